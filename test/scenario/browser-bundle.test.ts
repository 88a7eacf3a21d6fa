import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { bundleForBrowser } from "../../bench/browser/bundle.ts";

it("palimpsest/policy and the projection are bundled for a browser, and run with its globals alone", async () => {
  const { code, imports } = await bundleForBrowser();
  expect(imports).toEqual([]);
  expect(code).not.toMatch(/["'`]node:|\brequire\(/);
  // Neither Buffer nor process nor require: what Chromium has too.
  const page: Record<string, unknown> = { TextEncoder, TextDecoder };
  runInNewContext(code, page);
  expect(JSON.parse(String(page["palimpsestOutcome"]))).toEqual({
    roles: "user,assistant,user",
    cleared: true,
    presets: expect.any(Number) as number,
    policy: "palimpsest",
  });
});
