import { describe, expect, it } from "vitest";
import type { SessionList } from "../../packages/palimpsest/src/ports/store.ts";
import type { Transcripts } from "../../packages/palimpsest/src/ports/transcripts.ts";
import { type SessionId, sessionId } from "../../packages/palimpsest/src/schema/brand.ts";
import { openWriter } from "./open-writer.ts";

export interface SessionListUnderTest {
  readonly name: string;
  /** A store that holds the seed's transcripts and nothing else. */
  readonly make: (
    seed: ReadonlyMap<SessionId, Uint8Array>,
  ) => Promise<{ readonly transcripts: Transcripts; readonly sessions: SessionList }>;
}

const one = sessionId("11111111-1111-4111-8111-111111111111");
const two = sessionId("22222222-2222-4222-8222-222222222222");

const prompt = (text: string, timestamp: string) =>
  `${JSON.stringify({ type: "user", cwd: "/p", timestamp, message: { role: "user", content: text } })}\n`;

const answer = (timestamp: string) =>
  `${JSON.stringify({ type: "assistant", cwd: "/p", timestamp, message: { role: "assistant", content: [] } })}\n`;

/** The rules of the port, for every store alike. */
export function sessionListContract({ name, make }: SessionListUnderTest): void {
  const seeded = (content: string | Uint8Array) => make(new Map([[one, Buffer.from(content)]]));

  describe(`the list of sessions in ${name}`, () => {
    it("names the newest session first, with its first prompt and its count of messages", async () => {
      const older = prompt("older", "2026-01-01T00:00:00.000Z");
      const newer = prompt("newer", "2026-01-02T00:00:00.000Z") + answer("2026-01-03T00:00:00.000Z");
      const { sessions } = await make(
        new Map([
          [one, Buffer.from(older)],
          [two, Buffer.from(newer)],
        ]),
      );
      expect(await sessions.list()).toMatchObject([
        {
          sessionId: two,
          firstPrompt: "newer",
          messageCount: 2,
          created: "2026-01-02T00:00:00.000Z",
          modified: "2026-01-03T00:00:00.000Z",
          projectPath: "/p",
        },
        { sessionId: one, firstPrompt: "older", messageCount: 1, sizeBytes: older.length },
      ]);
    });

    it("puts sessions of the same moment in the order of their ids", async () => {
      const said = Buffer.from(prompt("same", "2026-01-01T00:00:00.000Z"));
      const { sessions } = await make(
        new Map([
          [two, said],
          [one, said],
        ]),
      );
      expect((await sessions.list()).map((row) => row.sessionId)).toEqual([one, two]);
    });

    it("follows what is appended", async () => {
      const { sessions, transcripts } = await seeded(prompt("first", "2026-01-01T00:00:00.000Z"));
      await sessions.list();
      const writer = openWriter(await transcripts.openForWriting(one));
      await writer.append([answer("2026-02-01T00:00:00.000Z").trimEnd()]);
      expect(await sessions.list()).toMatchObject([
        { firstPrompt: "first", messageCount: 2, modified: "2026-02-01T00:00:00.000Z" },
      ]);
    });

    it("has no session that was looked for and not found, nor one that was taken away again", async () => {
      const { sessions, transcripts } = await make(new Map());
      await transcripts.openForWriting(one);
      await transcripts.openForReading(one);
      expect(await sessions.list()).toEqual([]);
      const writer = openWriter(await transcripts.create(one));
      expect((await sessions.list()).map((row) => row.sessionId)).toEqual([one]);
      await writer.discard();
      expect(await sessions.list()).toEqual([]);
    });

    it("leaves a torn last line as it is", async () => {
      const { sessions, transcripts } = await seeded("{");
      await sessions.list();
      const source = await transcripts.openForReading(one);
      expect(Buffer.from((await source?.read({ start: 0, end: 9 })) ?? []).toString()).toBe("{");
      await source?.close();
    });

    it("has damaged and empty sessions too", async () => {
      const { sessions } = await make(
        new Map([
          [one, Buffer.alloc(100)],
          [two, Buffer.of()],
        ]),
      );
      expect(await sessions.list()).toMatchObject([
        { firstPrompt: "", messageCount: 0 },
        { firstPrompt: "", messageCount: 0 },
      ]);
    });

    it("counts the messages of a long session only where all are asked for", async () => {
      const messages = 400;
      const at = "2026-01-01T00:00:00.000Z";
      const long = (prompt("x".repeat(1000), at) + answer(at)).repeat(messages / 2);
      const { sessions } = await seeded(long);
      expect((await sessions.list())[0]?.messageCount).toBeUndefined();
      expect((await sessions.list("all"))[0]?.messageCount).toBe(messages);
    });
  });
}
