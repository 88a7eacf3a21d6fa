import { visibleWidth } from "@earendil-works/pi-tui";
import { expect, test } from "vitest";
import { millis } from "palimpsest/internal/schema/brand";
import { Completion } from "./completion.ts";

test("no command is cut in the column that pi-tui has for it", async () => {
  const completion = new Completion({
    complete: async () => [],
    listFiles: async () => {},
    now: () => millis(0),
    pause: async () => {},
  });
  const { signal } = new AbortController();
  const { items = [] } = (await completion.getSuggestions(["/"], 0, 1, { signal })) ?? {};
  expect(items.map(({ label }) => label)).toContain("/compact [instructions]");
  // Its column has 32, of which two stay free.
  for (const { label } of items) expect(visibleWidth(label)).toBeLessThanOrEqual(30);
});
