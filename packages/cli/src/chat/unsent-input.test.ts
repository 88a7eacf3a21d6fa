import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/contract/temporary-folder.ts";
import { openedForTest, append, testDeps, user } from "../../../../test/fixture/session.ts";
import { millis } from "palimpsest/internal/schema/brand";
import { returnInput } from "./pending-input.ts";
import { type UnsentInput, UnsentInputStore, readUnsentInput, dropLogged } from "./unsent-input.ts";

const at = millis(1_000);

async function kept() {
  const path = join(await temporaryFolder(), "session", "input.json");
  const input = new UnsentInputStore();
  await input.moveTo(path);
  return { path, input };
}

const draftOf = ({ messages, draft }: UnsentInput): string =>
  returnInput(
    messages.map(({ text }) => text),
    draft,
  ).text;

describe("what was typed and not said", () => {
  test("is on disk, for nobody else to read, and comes back in order", async () => {
    const { path, input } = await kept();
    input.put({ texts: ["one", "two"], draft: "three", at });
    await input.settled();
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(draftOf(await readUnsentInput(path))).toBe("one\n\ntwo\n\nthree");
  });

  test("leaves no file behind when all of it is said", async () => {
    const { path, input } = await kept();
    input.put({ texts: ["one"], draft: "", at });
    input.put({ texts: [], draft: "", at });
    await input.settled();
    await expect(stat(path)).rejects.toThrow("ENOENT");
  });

  test("is as it was last, however fast it changes", async () => {
    const { path, input } = await kept();
    for (let n = 0; n < 200; n += 1) input.put({ texts: [], draft: `text ${n}`, at });
    await input.settled();
    expect(await readFile(path, "utf8")).toContain("text 199");
  });

  test("moves from place to place: the one before is emptied, and what was put meanwhile is in the other", async () => {
    const { path, input } = await kept();
    const other = join(dirname(path), "other.json");
    input.put({ texts: ["one"], draft: "", at });
    const moving = input.moveTo(other);
    input.put({ texts: ["one", "two"], draft: "", at });
    await moving;
    await input.settled();
    await expect(stat(path)).rejects.toThrow("ENOENT");
    expect(draftOf(await readUnsentInput(other))).toBe("one\n\ntwo");
  });

  test("without a place is remembered until there is one", async () => {
    const path = join(await temporaryFolder(), "session", "input.json");
    const input = new UnsentInputStore();
    input.put({ texts: ["early"], draft: "", at });
    await input.settled();
    await input.moveTo(path);
    expect(draftOf(await readUnsentInput(path))).toBe("early");
  });

  test.each(["", "{", '{"messages":7}', "[]"])("is nothing where the file holds %j", async (content) => {
    const { path } = await kept();
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
    expect(draftOf(await readUnsentInput(path))).toBe("");
  });

  test("is not given back where it has reached the log after all; what was said before it was typed is no sign of that", async () => {
    const session = await openedForTest(testDeps());
    await append(session, user("again"), user("sent"));
    const { entries } = session.fold.path;
    const first = Date.parse(entries[0]?.timestamp ?? "");
    const messages = [
      { text: "sent", at: first },
      { text: "again", at: first + 1 },
      { text: "queued", at: first + 2 },
    ];
    expect(draftOf(dropLogged({ messages, draft: "" }, entries))).toBe("again\n\nqueued");
  });
});
