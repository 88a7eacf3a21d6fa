import { expect, it } from "vitest";
import { blobsWith, loggedOf } from "../../../../test/fixture/log.ts";
import { toolUseId } from "../schema/brand.ts";
import { RecentTexts } from "./recent-texts.ts";

it("gives a text that is no longer at hand from its line or its blob, and nothing where that is gone", async () => {
  const [line] = loggedOf([JSON.stringify({ type: "user", uuid: "u1", message: { content: "said long ago" } })]);
  const blobs = await blobsWith([Buffer.from("kept in a blob")]);
  const [blob] = await blobs.list();
  if (blob === undefined) throw new Error("the blob is not there");
  const read: number[] = [];
  const lineAt = async ({ start }: { readonly start: number }) => {
    read.push(start);
    return start === 0 ? line : undefined;
  };
  const texts = new RecentTexts({ blobs, lineAt }, 10);
  texts.add("said long ago", { kind: "line", place: { start: 0, end: 1 }, number: 0 });
  texts.add("kept in a blob", { kind: "blob", blob: { id: toolUseId("t1"), blob, media: "text" } });
  texts.add("blanked since then", { kind: "line", place: { start: 9, end: 10 }, number: 0 });
  texts.add("newest", { kind: "line", place: { start: 20, end: 21 }, number: 0 });
  const all = await Promise.all([0, 1, 2, 3, 4].map((number) => texts.text(number)));
  expect(all).toEqual(["said long ago", "kept in a blob", undefined, "newest", undefined]);
  expect(read).toEqual([0, 9]);
});
