import { describe, expect, it } from "vitest";
import {
  collectImportedRounds,
  offload,
  type RoundResult,
} from "../../packages/palimpsest/src/layers/1-offload/run.ts";
import { ImageGuard } from "../../packages/palimpsest/src/layers/1-offload/image-guard.ts";
import { imagesMax } from "../../packages/palimpsest/src/layers/1-offload/limits.ts";
import { defaultOffloadLimits } from "../../packages/palimpsest/src/layers/1-offload/plan.ts";
import { expand } from "../../packages/palimpsest/src/session/expand.ts";
import type { Session, SessionDeps } from "../../packages/palimpsest/src/session/session.ts";
import { undo } from "../../packages/palimpsest/src/session/undo.ts";
import type { Message, ResultContent } from "../../packages/palimpsest/src/schema/block.ts";
import { tokens, toolUseId } from "../../packages/palimpsest/src/schema/brand.ts";
import { type JsonObject, parseJson } from "../../packages/palimpsest/src/schema/json.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
import { resultDraft } from "../../packages/palimpsest/src/transcript/draft.ts";
import { Asking } from "../fixture/asking.ts";
import { imagePart, pngData } from "../fixture/image.ts";
import { sourceOf } from "../fixture/log.ts";
import {
  append,
  call,
  logBytes,
  opened,
  openedForTest,
  reopened,
  reply,
  testDeps,
  testSession,
  user,
} from "../fixture/session.ts";
import { playing, says } from "./support/simulated.ts";

const megabytes = (count: number): number => count * 2 ** 20;

/** Lines of text in several scripts, all of them different. */
function prose(charsMin: number): string {
  const lines: string[] = [];
  for (let chars = 0, at = 0; chars < charsMin; at += 1) {
    const line = `${at}: the quick brown fox, 敏捷的棕色狐狸, быстрая лиса, e\u0301te\u0301, 👩‍👩‍👧 👋🏽 #${at}`;
    lines.push(line);
    chars += line.length + 1;
  }
  return lines.join("\n");
}

/** A session in which a tool was called and its result went through the layer. */
async function withResult(deps: SessionDeps, content: ResultContent, tool = "grep"): Promise<Session> {
  const session = await openedForTest(deps);
  await append(session, user("look into it"), reply("msg_1", call("toolu_1", tool)));
  const result: RoundResult = { toolUse: toolUseId("toolu_1"), tool, content, state: "arrived" };
  const round = await offload(deps, { session: testSession, results: [result], limits: defaultOffloadLimits() });
  expect(round.warnings).toEqual([]);
  await append(session, ...round.drafts);
  return session;
}

const windowTokens = 200_000;
const models = [{ id: "claude-sonnet-5", windowTokens }];

const guarded = (session: Session): readonly Message[] =>
  new ImageGuard().guard(session.view().messages, { countMax: imagesMax(windowTokens) }).messages;

/** The request as it would be sent, and what the API says to it. */
async function ask(session: Session): Promise<{ readonly sent: string; readonly status: string }> {
  expect(session.view().sendable).toBe(true);
  const sent = JSON.stringify(guarded(session));
  const asking = new Asking(new Simulator({ responder: playing(says("ok")), models }));
  const replied = await asking.reply({ messages: parseJson(sent) });
  return { sent, status: replied.kind === "message" ? "answered" : replied.body.error.message };
}

async function recall(deps: SessionDeps, id: string): Promise<Uint8Array> {
  const found = await expand(deps, sourceOf(await logBytes(deps)), id);
  if (!("bytes" in found)) throw new Error(found.kind);
  return found.bytes;
}

const encoded = (text: string): Uint8Array => new TextEncoder().encode(text);
const isSame = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0;

const poison: readonly { readonly name: string; readonly content: ResultContent; readonly tool?: string }[] = [
  { name: "a text of 4 MB", content: prose(megabytes(4)) },
  { name: "a command's output of 4 MB", content: prose(megabytes(4)), tool: "bash" },
  { name: "4 MB of JSON", content: JSON.stringify({ rows: prose(megabytes(3)).split("\n") }) },
  { name: "a sub-agent's report of 900 KB", content: [{ type: "text", text: prose(900_000) }], tool: "agent" },
  { name: "an image as base64 in text", content: `<img src="data:image/png;base64,${pngData({ bytes: 600_000 })}">` },
  { name: "a text that begins with a byte order mark", content: `\uFEFF${prose(100_000)}` },
];

describe("11. Poison items", () => {
  describe.each(poison)("$name", ({ content, tool }) => {
    const original = encoded(typeof content === "string" ? content : JSON.stringify(content, null, 2));

    it("is sent as a stub with size, id, beginning and end, and the API takes it", async () => {
      const session = await withResult(testDeps(), content, tool);
      const { sent, status } = await ask(session);
      expect(status).toBe("answered");
      expect(sent.length).toBeLessThan(6_000);
      expect(sent).toMatch(/This output has [\d.]+ [KM]B/);
      expect(sent).toContain("recall toolu_1");
      expect(sent.isWellFormed()).toBe(true);
      if (typeof content === "string" && !content.startsWith("{")) {
        expect(sent).toContain(JSON.stringify(content.slice(0, 100)).slice(1, -1));
        expect(sent).toContain(JSON.stringify(content.slice(-30)).slice(1, -1));
      }
    });

    it("is stored once, and comes back byte for byte by the call's id", async () => {
      const deps = testDeps();
      await withResult(deps, content, tool);
      expect(await deps.blobs.list()).toHaveLength(1);
      expect((await logBytes(deps)).length).toBeLessThan(16_000);
      expect(isSame(await recall(deps, "toolu_1"), original)).toBe(true);
    });

    it("shows the same bytes after a resume, and whole again when the offload is undone", async () => {
      const deps = testDeps();
      const session = await withResult(deps, content, tool);
      const before = JSON.stringify(session.view().messages);
      const again = await reopened(deps, session);
      expect(JSON.stringify(again.view().messages)).toBe(before);
      const undone = await undo(again, { mode: "path", blockingTokens: tokens(1e9), thinking: "free" });
      expect(undone.kind).toBe("undone");
      const block = again.view().messages.at(-1)?.content[0];
      expect(block?.type === "tool_result" && JSON.stringify(block.content) === JSON.stringify(content)).toBe(true);
      await again.close();
    });
  });

  it("half a surrogate pair in 4 MB: the stub can be sent, and undoing gives every character back", async () => {
    const content = `\uDE00${prose(megabytes(4))}\uD83D`;
    const deps = testDeps();
    const session = await withResult(deps, content);
    expect((await ask(session)).status).toBe("answered");
    expect((await ask(session)).sent.length).toBeLessThan(6_000);
    await undo(session, { mode: "path", blockingTokens: tokens(1e9), thinking: "free" });
    const block = session.view().messages.at(-1)?.content[0];
    expect(block?.type === "tool_result" && block.content === content).toBe(true);
  });

  const thirty = Array.from({ length: 30 }, (_, at) => imagePart({ width: 3_000, height: 3_000 + at, bytes: 10_000 }));

  it("30 images of 3,000 pixels: the newest 20 are sent, and all of them come back", async () => {
    const deps = testDeps();
    const session = await withResult(deps, thirty);
    const { sent, status } = await ask(session);
    expect(status).toBe("answered");
    expect(sent.match(/"type":"image"/g)).toHaveLength(20);
    expect(
      sent.match(/\[Image \(PNG, 3000 × 30\d\d pixels, 9\.8 KB\) not shown: [^\]]* recall toolu_1\]/g),
    ).toHaveLength(10);
    expect(parseJson(new TextDecoder().decode(await recall(deps, "toolu_1")))).toEqual(thirty);
  });

  const undecodable: readonly [string, JsonObject][] = [
    ["no base64", imagePart({ data: "%%%%" })],
    ["no image", imagePart({ data: Buffer.from("GIF? no. ".repeat(20)).toString("base64") })],
    ["a header that was cut", imagePart({ data: pngData().slice(0, 24) })],
    ["over 5 MB", imagePart({ bytes: megabytes(5) + 3 })],
  ];

  it.each(undecodable)(
    "an image that can't be sent (%s) is a stub that names its blob, and is never sent",
    async (_, image) => {
      const deps = testDeps();
      const session = await withResult(deps, [{ type: "text", text: "a screenshot:" }, image, imagePart()]);
      const { sent, status } = await ask(session);
      expect(status).toBe("answered");
      expect(sent.match(/"type":"image"/g)).toHaveLength(1);
      const [blob = ""] = await deps.blobs.list();
      expect(sent).toContain(`recall ${blob}]`);
      const bytes = Buffer.from(await recall(deps, blob));
      const { data } = image["source"] as { data: string };
      expect(bytes.toString("base64") === data || bytes.toString() === JSON.stringify(image)).toBe(true);
    },
  );

  it("a session that already holds all of them opens, and what is sent is taken", async () => {
    const held = poison.filter(({ name }) => !/command|JSON/.test(name)).map(({ content }) => content);
    const items: readonly ResultContent[] = [...held, thirty, undecodable.map(([, image]) => image), ""];
    const deps = testDeps();
    const recorded = await opened(deps);
    await append(recorded, user("look into it"), reply("msg_1", ...items.map((_, at) => call(`toolu_${at}`))));
    for (const [at, content] of items.entries())
      await append(recorded, resultDraft({ toolUse: toolUseId(`toolu_${at}`), content }));
    await append(recorded, { type: "user", message: { role: "user", content: [imagePart({ data: "broken" })] } });
    const session = await reopened(deps, recorded);
    expect((await ask(session)).status).toMatch(/prompt is too long/);

    for (const results of collectImportedRounds(session.fold.projection)) {
      const round = await offload(deps, { session: testSession, results, limits: defaultOffloadLimits() });
      await append(session, ...round.drafts);
    }
    const { sent, status } = await ask(session);
    expect(status).toBe("answered");
    expect(sent.match(/"type":"image"/g)).toHaveLength(20);
    for (const [at, content] of held.entries()) {
      if (typeof content === "string") expect(isSame(await recall(deps, `toolu_${at}`), encoded(content))).toBe(true);
    }
    expect(collectImportedRounds(session.fold.projection).flat()).toHaveLength(3);
    const again = await reopened(deps, session);
    expect((await ask(again)).sent).toBe(sent);
    await again.close();
  });
});
