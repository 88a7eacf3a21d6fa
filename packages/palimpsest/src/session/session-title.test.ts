import { expect, it } from "vitest";
import { append, openedForTest, reply, testDeps, text, user } from "../../../../test/fixture/session.ts";
import { appendBoundary } from "./append-boundary.ts";
import type { Session } from "./session.ts";
import { sessionTitle, titleDraft } from "./session-title.ts";

/** As an earlier version left it: with a boundary, and without a title behind it. Opened again, only its end is read. */
async function openedAtBoundary(): Promise<Session> {
  const deps = testDeps({ tailBytes: 256 });
  const written = await openedForTest(deps);
  await append(written, user("Mend the clock."), reply("m1", text("long ".repeat(500))));
  await appendBoundary(deps, written, { summary: "The clock is mended.", trigger: "manual" });
  await append(written, user("And now the bell."), reply("m2", text("Done.")));
  expect(sessionTitle(written)?.text).toBe("Mend the clock.");
  await written.close();
  const session = await openedForTest(deps, "resume");
  expect(session.read.from).toBe("boundary");
  return session;
}

it("a session of which the beginning was not read gets no message from its middle as its title", async () => {
  expect(sessionTitle(await openedAtBoundary())).toBeUndefined();
});

it("what the user called it behind the boundary counts, however it was read", async () => {
  const session = await openedAtBoundary();
  await append(session, titleDraft({ text: "The bell", by: "user" }));
  expect(sessionTitle(session)).toEqual({ text: "The bell", by: "user" });
});
