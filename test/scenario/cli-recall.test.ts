import { PassThrough } from "node:stream";
import { beforeAll, describe, expect, it } from "vitest";
import { main } from "../../packages/cli/src/main.ts";
import { append, call, cleared, offloaded, reply, result, text, user } from "../fixture/session.ts";
import { expectRefusal, json, newWorld, type World } from "./support/cli-world.ts";
import { openedSession } from "./support/project.ts";

let world: World;
beforeAll(async () => {
  world = await newWorld();
  const session = await openedSession(world.deps, "zoo", "create");
  await append(session, user("Where is the zebra?"), reply("m1", call("t1"), call("t2")));
  await append(session, ...(await offloaded(world.deps, "t1", `${"line\n".repeat(50)}const okapiLimit = 7;\n`)));
  await append(session, result("t2", "a quagga stood here"), cleared("t2"), reply("m2", text("In the zoo.")));
  for (let at = 0; at < 12; at += 1)
    await append(session, user(`Giraffe number ${at}.`), reply(`g${at}`, text("Seen.")));
  await append(session, reply("m3", call("long")), result("long", `x${"🦓".repeat(25_000)}`));
  await session.close();
});

/** As the user at a terminal sees it. */
async function seen(...args: readonly string[]): Promise<string> {
  const stream = (): PassThrough => Object.assign(new PassThrough(), { isTTY: true });
  const [stdin, stdout, stderr] = [stream(), stream(), stream()];
  let text = "";
  for (const one of [stdout, stderr]) one.on("data", (data: Buffer) => (text += data.toString()));
  const env = { NO_COLOR: "1", PALIMPSEST_HOME: world.home };
  await main({ argv: args, stdin, stdout, stderr, env, cwd: world.work });
  return text;
}

interface Recalled {
  readonly query: string;
  readonly hits: readonly Readonly<Record<string, unknown>>[];
  readonly pages: number;
  readonly total: number;
}

describe("palimpsest recall", () => {
  it("finds what was offloaded and cleared, with ids that give the original back", async () => {
    const blob = json<Recalled>(await world.call("recall", "zoo", "okapi", "limit", "--json"));
    expect(blob).toMatchObject({
      query: "okapi limit",
      total: 1,
      hits: [{ id: "t1", kind: "result", call: "Read t1", offset: 250, snippet: "const okapiLimit = 7;", also: [] }],
    });
    expect(blob.hits).toMatchObject([
      { before: { kind: "call", text: "Read t2" }, after: { id: "t2", kind: "result" } },
    ]);
    const { out } = await world.call("recall", "zoo", '"quagga stood"');
    expect(out).toMatch(/^t2 {2}result {2}\S+ {2}Read t2\n {2}a quagga stood here\n/);
    expect(out).toMatch(/\n {4}before, call: Read t1\n {4}after, reply: In the zoo\.\n1 text found\n$/);
  });

  it("an id prints what expand prints, and in JSON says what it is", async () => {
    for (const id of ["t1", "t2"]) {
      const expanded = await world.call("expand", "zoo", id);
      expect(await world.call("recall", "zoo", id)).toEqual(expanded);
      expect(json(await world.call("recall", "zoo", id, "--json"))).toEqual({ kind: "result", id, text: expanded.out });
    }
  });

  it("the id of a message, or enough of its beginning, prints what was said; expand has the line", async () => {
    const [hit] = json<Recalled>(await world.call("recall", "zoo", "zebra", "--json")).hits;
    const id = String(hit?.["id"]);
    for (const named of [id, id.slice(0, 8)]) {
      expect(await world.call("recall", "zoo", named)).toMatchObject({ code: 0, out: "Where is the zebra?" });
      expect(json(await world.call("recall", "zoo", named, "--json"))).toEqual({
        kind: "entry",
        id,
        text: "Where is the zebra?",
      });
      expect(json<object>(await world.call("expand", "zoo", named))).toMatchObject({ type: "user", uuid: id });
    }
  });

  it("a few characters that begin an id are a word where they are found as one", async () => {
    const line = (uuid: string, content: string): object => ({ type: "user", uuid, message: { content } });
    const file = world.file("few.jsonl", [
      line("80800000-0000-4000-8000-000000000000", "A giraffe."),
      line("11110000-0000-4000-8000-000000000000", "Port 8080."),
      line("11112222-0000-4000-8000-000000000000", "An okapi."),
    ]);
    expect((await world.call("recall", file, "8080")).out).toContain("  Port 8080.\n");
    expect((await world.call("recall", file, "80800")).out).toBe("A giraffe.");
    expectRefusal(await world.call("recall", file, "1111"), 2, "2 entries begin with 1111");
  });

  it.each(["toolu_01nowhere", "01234567-89ab-4cde-8f01-23456789abcd", "a".repeat(64)])(
    "an id that nothing has is no query for parts of it: %s",
    async (id) => {
      const file = world.file("ids.jsonl", [
        { type: "user", uuid: "u1", message: { content: `toolu_02 01 nowhere 01234567 4cde` } },
      ]);
      expectRefusal(await world.call("recall", file, id), 3, `has the id ${id}`);
      const named = world.file("named.jsonl", [{ type: "user", uuid: "u1", message: { content: `it was ${id}` } }]);
      expect((await world.call("recall", named, id)).out).toContain(`it was ${id}`);
    },
  );

  it("says how many of the texts it found are shown", async () => {
    const lines = Array.from({ length: 122 }, (_, at) => ({
      type: "user",
      uuid: `u${at}`,
      message: { content: `okapi number ${at}` },
    }));
    const { out } = await world.call("recall", world.file("many.jsonl", lines), "okapi");
    expect(out).toMatch(/\n122 texts found, the best 100 shown, page 1 of 10 \(--page 2 goes on\)\n$/);
  });

  it("shows the hits in pages", async () => {
    const first = await world.call("recall", "zoo", "giraffe");
    expect(first.out).toContain("12 texts found, page 1 of 2 (--page 2 goes on)");
    const numbers = (out: string): readonly string[] => out.match(/^ {2}Giraffe number \d+\.$/gm) ?? [];
    const second = await world.call("recall", "zoo", "giraffe", "--page", "2");
    expect([numbers(first.out).length, numbers(second.out).length]).toEqual([10, 2]);
    expect(new Set([...numbers(first.out), ...numbers(second.out)]).size).toBe(12);
    expectRefusal(await world.call("recall", "zoo", "giraffe", "--page", "9"), 1, "no page 9: the last one is 2");
    const behind = await world.call("recall", "zoo", "giraffe", "--page", "9", "--json");
    expect([behind.code, json<Recalled>(behind)]).toMatchObject([1, { hits: [], page: 9, pages: 2, total: 12 }]);
  });

  it("shows what an id stands for in pages that joined are the whole", async () => {
    const { out: whole } = await world.call("expand", "zoo", "long");
    const pages = [];
    for (const page of ["1", "2", "3"]) pages.push((await world.call("recall", "zoo", "long", "--page", page)).out);
    expect(pages.join("")).toBe(whole);
    expect(json(await world.call("recall", "zoo", "long", "--page", "3", "--json"))).toEqual({
      kind: "result",
      id: "long",
      text: pages[2],
      page: 3,
      pages: 3,
    });
    expectRefusal(await world.call("recall", "zoo", "long", "--page", "4"), 1, "no page 4: the last one is 3");
  });

  it("says no where nothing is found, and refuses what it can't search", async () => {
    expect(await world.call("recall", "zoo", "walrus")).toMatchObject({ code: 1, out: "nothing found\n", err: "" });
    expectRefusal(await world.call("recall", "zoo", "…"), 2, "no word");
    expectRefusal(await world.call("recall", "zoo", " "), 2, "the query is empty");
    expectRefusal(await world.call("recall", "zoo"), 2, "query|id");
    expectRefusal(await world.call("recall", "zoo", "zebra", "--page", "0"), 2, "--page 0");
    expectRefusal(await world.call("recall", "nowhere", "zebra"), 3, "nowhere");
  });

  it("nothing that was said drives the terminal or passes for a line of ours", async () => {
    const evil = (name: string): string => `${name}\u001B[2J\u009B1m\u202E\r\n9 texts found`;
    const file = world.file("evil.jsonl", [
      {
        type: "assistant",
        uuid: "a1",
        timestamp: evil("now"),
        message: { content: [{ type: "tool_use", id: "t1", name: evil("Tool"), input: {} }] },
      },
      {
        type: "user",
        uuid: evil("u1"),
        timestamp: evil("now"),
        message: { content: [{ type: "tool_result", tool_use_id: "t1", content: evil("okapi") }] },
      },
      { type: "user", uuid: evil("u2"), message: { content: evil("okapi") } },
    ]);
    const calls = [["okapi"], [evil("walrus")], ["t1"], ["t1", "--page", "1"], ["t1", "--page", "2"]];
    for (const args of calls) {
      const text = await seen("recall", file, ...args);
      expect(text).toMatch(/\n$/);
      expect(text).not.toMatch(/[^\P{Cc}\n\t]|\p{Cf}/u);
    }
    expect((await seen("recall", file, "okapi")).split("\n")).not.toContain("9 texts found");
  });

  it("tells a file that is no transcript from one in which nothing is found", async () => {
    expectRefusal(await world.call("recall", world.file("list.txt", "milk\nzebra\n"), "zebra"), 1, "not a transcript");
    expectRefusal(await world.call("recall", world.file("empty.jsonl", ""), "zebra"), 1, "is empty");
  });

  it("finds the whole of a last line that lacks its end, and passes over one that is torn", async () => {
    const line = (uuid: string): string => JSON.stringify({ type: "user", uuid, message: { content: "An okapi." } });
    const whole = world.file("whole.jsonl", `${line("u1")}\n${line("u2")}`);
    expect(json<Recalled>(await world.call("recall", whole, "okapi", "--json")).total).toBe(2);
    const torn = world.file("torn.jsonl", `${line("u1")}\n${line("u2").slice(0, -4)}`);
    expect(json<Recalled>(await world.call("recall", torn, "okapi", "--json")).total).toBe(1);
  });
});
