import { expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/contract/temporary-folder.ts";
import type { SandboxUse } from "palimpsest/internal/ports/sandbox";
import { sandboxNotice } from "./chat-host.ts";

const absent = (why: string): SandboxUse => ({ kind: "unheld", because: "absent", why, remedy: "install bubblewrap" });

test("that there is no sandbox is said once for each reason, with the remedy", async () => {
  const home = await temporaryFolder();
  expect(await sandboxNotice(absent("bwrap is not installed"), home)).toMatch(
    /bwrap is not installed.*\n.*install bub/,
  );
  expect(await sandboxNotice(absent("bwrap is not installed"), home)).toBeUndefined();
  expect(await sandboxNotice(absent("no user namespaces"), home)).toContain("no user namespaces");
});

test("nothing is said where the sandbox was turned off, and what can't be remembered is said again", async () => {
  const home = await temporaryFolder();
  expect(await sandboxNotice({ kind: "unheld", because: "off" }, home)).toBeUndefined();
  expect(await sandboxNotice(absent("none"), "/dev/null/home")).toContain("none");
  expect(await sandboxNotice(absent("none"), "/dev/null/home")).toContain("none");
});
