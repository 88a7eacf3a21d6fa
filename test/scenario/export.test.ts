import { existsSync, readFileSync } from "node:fs";
import { mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { buildExportDocument } from "../../packages/palimpsest/src/export/build-export-document.ts";
import { renderHtml } from "../../packages/palimpsest/src/export/render-html.ts";
import { renderMarkdown } from "../../packages/palimpsest/src/export/render-markdown.ts";
import { maskSecrets } from "../../packages/palimpsest/src/text/find-secrets.ts";
import { appendBoundary } from "../../packages/palimpsest/src/session/append-boundary.ts";
import { exportJsonl, readForDocument } from "../../packages/palimpsest/src/session/export-jsonl.ts";
import { openLog } from "../../packages/palimpsest/src/session/open-log.ts";
import { entryId, toolUseId } from "../../packages/palimpsest/src/schema/brand.ts";
import { memoryBlobs } from "../../packages/palimpsest/src/store/memory/memory-blobs.ts";
import { corpusBytes, corpusFiles, hasCorpus } from "../fixture/corpus.ts";
import { sourceOf } from "../fixture/log.ts";
import { append, call, cleared, offloaded, reply, say, text, user } from "../fixture/session.ts";
import { balanced } from "./support/balanced.ts";
import { expectRefusal, newWorld, rawLog, said, type World } from "./support/cli-world.ts";
import { openedSession, pathOf } from "./support/project.ts";

const script = `</pre><script>alert("from a result")</script>`;
const whole = `the whole long output ${"line\n".repeat(50)} its end`;
const key = ["sk", "ant", "api03", "aB3dE5fG7hJ9kL1mN3pQ5rS7"].join("-");
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const image = { type: "image", source: { type: "base64", media_type: "image/png", data: pixel } };

/** Every kind of thing that an export tells of. */
async function richSession(world: World, id: string): Promise<void> {
  const session = await openedSession(world.deps, id, "create");
  await append(session, user(`Fix the build with ${key}`));
  await append(
    session,
    reply("m0", { type: "thinking", thinking: "let me think", signature: key }, text("# Plan\nI look."), call("t0")),
  );
  await append(session, {
    type: "user",
    message: {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "t0", content: [{ type: "text", text: script }, image, image] }],
    },
  });
  await append(session, reply("m1", call("t1")));
  for (const draft of await offloaded(world.deps, "t1", whole)) await append(session, draft);
  const clear = await session.edit({ drafts: [cleared("t0")], cause: "asked", nature: "reduced" });
  if (clear.kind !== "edited") throw new Error(clear.message);
  await append(session, { type: "undo", edit: clear.entries[0] ?? "" });
  await append(
    session,
    reply("m2", { type: "tool_use", id: toolUseId("t2"), name: "Task", input: { prompt: "Look into it." } }),
  );
  const leaf = session.fold.path.leaf?.id ?? "";
  await append(session, {
    type: "user",
    isSidechain: true,
    agentId: "helper",
    parentUuid: null,
    message: { role: "user", content: "Look into it." },
  });
  await append(session, {
    type: "assistant",
    isSidechain: true,
    agentId: "helper",
    parentUuid: null,
    message: { role: "assistant", content: [text("The helper's words.")] },
  });
  await append(session, {
    type: "user",
    parentUuid: entryId(leaf),
    message: { role: "user", content: [{ type: "tool_result", tool_use_id: "t2", content: "It is found." }] },
  });
  const asked = await say(session, user("A way that was left."));
  await append(session, { ...user("Another way."), parentUuid: entryId(leaf) });
  expect(asked).not.toBe("");
  await appendBoundary(world.deps, session, { summary: "What happened so far.", trigger: "manual" });
  await append(session, { type: "attachment", attachment: { type: "file", filename: "notes.md", content: "noted" } });
  await append(session, user("And now?"));
  await session.close();
  const bytes = world.log(id);
  const at = bytes.indexOf("\n", 200) + 1;
  await writeFile(
    pathOf(world, id),
    Buffer.concat([bytes.subarray(0, at), Buffer.from('{"half a li\n'), bytes.subarray(at)]),
  );
}

let world: World;
beforeAll(async () => {
  world = await newWorld();
  await richSession(world, "rich");
});

async function exported(to: string, ...options: readonly string[]): Promise<string> {
  const out = join(world.work, `rich-${options.join("")}.${to}`);
  const made = await world.call("sessions", "export", "rich", "--to", to, "--out", out, ...options);
  expect(made).toMatchObject({ code: 0, err: "" });
  expect(made.out).toContain(out);
  return readFileSync(out, "utf8");
}

const inAllForms = async (option: string): Promise<[string, string, string]> =>
  Promise.all([exported("md", option), exported("html", option), exported("jsonl", option)]);

const everything = [
  "Fix the build",
  "let me think",
  "its end",
  "The helper's words.",
  "It is found.",
  "A way that was left.",
  "Another way.",
  "What happened so far.",
  "And now?",
  "noted",
  "[cleared t0]",
];

describe("palimpsest sessions export", () => {
  it("Markdown tells everything: edits with receipts, sub-agents under their call, branches, damage, images as files", async () => {
    const md = await exported("md");
    for (const words of everything) expect(md).toContain(words);
    expect(md).toMatch(/✎ \*\*Edit: clear — 1 result \(asked\) \(undone\)\*\*/);
    expect(md).toMatch(/receipt · cause asked · [\d,]+ → [\d,]+ tokens \\?\(estimated\\?\)/);
    expect(md).toMatch(/✂ \*\*Conversation compacted — manual\*\*/);
    expect(md.indexOf("The helper's words.")).toBeGreaterThan(md.indexOf("**Call Task**"));
    expect(md.indexOf("The helper's words.")).toBeLessThan(md.indexOf("It is found."));
    expect(md.indexOf("A way that was left.")).toBeGreaterThan(md.indexOf("## Other branches"));
    expect(md).toMatch(/## Damage[\s\S]*json, bytes \d+–\d+/);
    expect(md).toContain("### Plan");
    const [, link = ""] = /!\[image[^\]]*\]\(([^)]+)\)/.exec(md) ?? [];
    expect(readFileSync(join(world.work, link)).toString("base64")).toBe(pixel);
    expect(await readdir(join(world.work, "rich--images"))).toHaveLength(1);
  });

  it("HTML tells the same, every tag is closed, and nothing of the log is markup", async () => {
    const html = await exported("html");
    for (const words of everything) expect(html).toContain(words.replaceAll("'", "&#39;"));
    expect(balanced(html)).toBe("balanced");
    expect(html).not.toContain("<script");
    expect(html).toContain("&lt;script&gt;alert(&quot;from a result&quot;)");
  });

  it("JSONL opens again with our own reader and gives the same view, with offloaded results in full", async () => {
    const jsonl = await exported("jsonl");
    const blobs = memoryBlobs();
    const view = async (data: Uint8Array, deps: { readonly blobs: typeof blobs }) =>
      (await openLog(deps, { source: sourceOf(data), origin: "ours" })).fold.view();
    const [before, after] = [await view(world.log("rich"), world.deps), await view(Buffer.from(jsonl), { blobs })];
    expect(after.messages).toEqual(before.messages);
    expect(after).toMatchObject({ sendable: before.sendable, repairs: before.repairs });
    const entries = jsonl
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { type: string; uuid: string });
    expect(entries.every(({ type, uuid }) => typeof type === "string" && typeof uuid === "string")).toBe(true);
    expect(new Set(entries.map(({ type }) => type))).toEqual(
      new Set(["user", "assistant", "offload", "clear", "undo", "system", "attachment"]),
    );
    expect(jsonl).toContain("its end");
    const foreign = world.file("again.jsonl", jsonl);
    const [viewed, expanded] = await Promise.all([world.call("view", foreign), world.call("expand", foreign, "t1")]);
    expect({ code: viewed.code, out: expanded.out }).toEqual({ code: 0, out: whole });
  });

  it("--plain gives messages only, and a chain that still opens", async () => {
    const [md, html, jsonl] = await inAllForms("--plain");
    for (const words of ["And now?", "It is found.", "Fix the build"])
      for (const text of [md, html, jsonl]) expect(text).toContain(words);
    for (const words of ["What happened so far.", "[cleared t0]", "✎"])
      for (const text of [md, html, jsonl]) expect(text).not.toContain(words);
    const lines = jsonl
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { type: string; uuid: string; parentUuid: string | null });
    const ids = new Set(lines.map(({ uuid }) => uuid));
    for (const { type, parentUuid } of lines) {
      expect(["user", "assistant"]).toContain(type);
      if (parentUuid !== null) expect(ids).toContain(parentUuid);
    }
    const opened = await openLog({ blobs: memoryBlobs() }, { source: sourceOf(Buffer.from(jsonl)), origin: "foreign" });
    expect(opened.fold.view()).toMatchObject({ sendable: true });
  });

  it("--mask-secrets masks in every form and leaves signatures alone", async () => {
    const [md, html, jsonl] = await inAllForms("--mask-secrets");
    expect(md).toContain("Fix the build with [secret: anthropic-key]");
    expect(html).toContain("Fix the build with [secret: anthropic-key]");
    expect(jsonl).toContain("Fix the build with [secret: anthropic-key]");
    for (const text of [md, html]) expect(text).not.toContain(key);
    expect(jsonl.split(key)).toHaveLength(2);
    expect(jsonl).toContain(`"signature":"${key}"`);
  });

  it("writes <session>.<form> here, never over a file unless told to, and to stdout with images as references", async () => {
    const path = join(world.work, "rich.md");
    expect((await world.call("sessions", "export", "rich", "--to", "md")).out).toMatch(
      new RegExp(`^${path} and 1 file in rich-images\n$`),
    );
    await writeFile(path, "mine");
    expectRefusal(
      await world.call("sessions", "export", "rich", "--to", "md"),
      5,
      "rich.md is there already",
      "--force",
    );
    expect(readFileSync(path, "utf8")).toBe("mine");
    expect((await world.call("sessions", "export", "rich", "--to", "md", "--force")).code).toBe(0);
    expect(readFileSync(path, "utf8")).toContain("And now?");
    const log = pathOf(world, "rich");
    const before = world.log("rich");
    expectRefusal(
      await world.call("sessions", "export", "rich", "--to", "jsonl", "--force", "--out", log),
      5,
      "is the log itself",
    );
    expect(world.log("rich").equals(before)).toBe(true);
    await rm(join(world.work, "rich-images"), { recursive: true });
    const [piped, unknown, missing] = await Promise.all([
      world.call("sessions", "export", "rich", "--to", "md", "--out", "-"),
      world.call("sessions", "export", "rich", "--to", "pdf"),
      world.call("sessions", "export", "rich"),
    ]);
    expect(piped.out).toContain("_[image: image/png, 70 bytes]_");
    expect(existsSync(join(world.work, "rich-images"))).toBe(false);
    expect((await readdir(world.work)).filter((name) => name.endsWith(".part"))).toEqual([]);
    expect((await stat(path)).mode & 0o777).toBe(0o666 & ~process.umask());
    expectRefusal(unknown, 2, "--to takes md, html or jsonl");
    expectRefusal(missing, 2, "--to is missing");
  });

  it("another tool's file, with sub-agents in logs beside it and in progress entries, is read where it lies", async () => {
    const raw = rawLog();
    raw.add(said.user("Go."));
    raw.add(said.call("m1", "t1"));
    raw.add({
      type: "progress",
      parentToolUseID: "t1",
      data: { type: "agent_progress", agentId: "quoted", message: said.text("q1", "Quoted by progress.") },
    });
    raw.add({ ...said.result("t1", "done"), toolUseResult: { agentId: "beside" } });
    const file = world.file("foreign.jsonl", raw.entries);
    const folder = join(world.work, "foreign", "subagents");
    await mkdir(folder, { recursive: true });
    const agent = {
      ...said.user("From its own log."),
      uuid: "a1",
      parentUuid: null,
      isSidechain: true,
      agentId: "beside",
    };
    await writeFile(join(folder, "agent-beside.jsonl"), `${JSON.stringify(agent)}\n`);
    const [md, jsonl] = await Promise.all(
      ["md", "jsonl"].map((to) => world.call("sessions", "export", file, "--to", to, "--out", "-")),
    );
    expect(md?.out).toMatch(
      /Call Read[\s\S]*Sub-agent beside, 1 part[\s\S]*From its own log\.[\s\S]*Sub-agent quoted, 1 part[\s\S]*Quoted by progress\.[\s\S]*done/,
    );
    expect(jsonl?.out).toBe(`${readFileSync(file, "utf8")}${JSON.stringify(agent)}\n`);
  });
});

const long = process.env["PALIMPSEST_LONG"] === "1";
const sample = corpusFiles.filter((_, at) => long || at % 8 === 0);

describe.skipIf(!hasCorpus)("recorded sessions export to all three (skipped where the corpus is absent)", () => {
  it.each(sample)("%s", async (name) => {
    const data = corpusBytes(name);
    const deps = { blobs: memoryBlobs() };
    const request = { name, origin: "foreign", source: sourceOf(data), agents: [], mask: maskSecrets } as const;
    const log = await readForDocument(deps, request);
    const document = buildExportDocument(log, { mode: "full", place: () => "images/x.png" });
    expect(balanced([...renderHtml(document)].join(""))).toBe("balanced");
    const md = [...renderMarkdown(document)].join("");
    expect(md.length).toBeGreaterThan(100);
    const { mask: _, ...unmasked } = request;
    const lines: string[] = [];
    for await (const line of exportJsonl(deps, { ...unmasked, mode: "full" })) lines.push(`${line}\n`);
    const again = await openLog(deps, { source: sourceOf(Buffer.from(lines.join(""))), origin: "foreign" });
    const before = await openLog(deps, { source: sourceOf(data), origin: "foreign" });
    expect(again.fold.view().messages).toEqual(before.fold.view().messages);
  });
});
