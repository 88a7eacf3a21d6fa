import { describe, expect, it } from "vitest";
import type { Block } from "../../../schema/block.ts";
import { toolUseId } from "../../../schema/brand.ts";
import { type SummaryFault, readSummary, type SummaryReply } from "./read-summary.ts";

const body = "## 1. Primary Request and Intent\nPort the parser.\n\n## 8. Current Work\nThe lexer.";

const reply = (text: string, over: Partial<SummaryReply> = {}): SummaryReply => ({
  text,
  stopReason: "end_turn",
  blocks: text === "" ? [] : [{ type: "text", text }],
  ...over,
});

const call: Block = { type: "tool_use", id: toolUseId("toolu_1"), name: "read", input: {} };
const thought: Block = { type: "thinking", thinking: "Let me see.", signature: "s" };

describe("a summary is found", () => {
  it.each<[string, string]>([
    ["in its tags, without the analysis", `<analysis>\na\n</analysis>\n\n<summary>\n${body}\n</summary>`],
    ["where words stand around it", `Here it is.\n<analysis>a</analysis>\n<summary>${body}</summary>\nAnything else?`],
    ["without an analysis", `<summary>\n${body}\n</summary>`],
    ["with its tag left open", `<analysis>a</analysis>\n<summary>\n${body}`],
    ["behind an analysis left open", `<analysis>\na\n\n<summary>\n${body}\n</summary>`],
    ["behind an analysis left open, without tags", `<analysis>\na\n\n${body}`],
    ["by its headings alone", body],
    ["by its headings behind an analysis", `<analysis>a</analysis>\n\n${body}`],
    ["by its headings behind a word or two", `Sure, here is the summary:\n\n${body}`],
    ["with a closing tag alone", `${body}\n</summary>`],
    ["in a fence", `\`\`\`xml\n<analysis>a</analysis>\n<summary>\n${body}\n</summary>\n\`\`\``],
    ["in tags of another case", `<Analysis>a</Analysis><SUMMARY>${body}</SUMMARY>`],
    [
      "where the analysis speaks of the tag",
      `<analysis>Next the <summary> tag.</analysis>\n<summary>${body}</summary>`,
    ],
  ])("%s", (_, text) => {
    expect(readSummary(reply(text))).toEqual({ kind: "summary", text: body });
  });

  it("whole where it quotes the closing tag itself", () => {
    const quoting = `${body}\n<details><summary>More</summary></details>\nand on`;
    expect(readSummary(reply(`<summary>\n${quoting}\n</summary>`))).toEqual({ kind: "summary", text: quoting });
  });

  it("under headings in any usual form", () => {
    for (const heading of [
      "# Current Work",
      "8. **Current Work**:",
      "**8. Current Work**",
      "Current Work:",
      "8) current work",
    ])
      expect(readSummary(reply(`${heading}\nThe lexer.`)), heading).toMatchObject({ kind: "summary" });
  });

  it("beside a call, where it is whole", () => {
    const text = `<summary>${body}</summary>`;
    const blocks: readonly Block[] = [{ type: "text", text }, call];
    expect(readSummary(reply(text, { stopReason: "tool_use", blocks }))).toEqual({ kind: "summary", text: body });
  });

  it("that speaks of errors and refusals under its headings", () => {
    const text = `## 4. Errors and Fixes\nAPI Error: 529 overloaded_error. I'm sorry, I can't help with that, it said.`;
    expect(readSummary(reply(`<summary>${text}</summary>`))).toEqual({ kind: "summary", text });
  });
});

describe("the notes before a summary", () => {
  const [notes, whole] = ["First the port,\nthen the parser.", "## 1. Current Work\nThe port."];
  it.each<[string, string, string]>([
    [
      "are kept in front of it",
      `<analysis>\n${notes}\n</analysis>\n<summary>\n${whole}\n</summary>`,
      `## Analysis\n${notes}\n\n${whole}`,
    ],
    ["need not be there", `<summary>\n${whole}\n</summary>`, whole],
    ["may be blank", `<analysis> </analysis><summary>${whole}</summary>`, whole],
    ["are left out where they are not closed", `<analysis>\n${notes}\n<summary>\n${whole}\n</summary>`, whole],
  ])("%s", (_, text, expected) => {
    expect(readSummary(reply(text), "kept")).toEqual({ kind: "summary", text: expected });
  });

  it("are no summary, also where they are kept", () => {
    expect(readSummary(reply(`<analysis>\n${notes}\n</analysis>`), "kept")).toEqual({
      kind: "bad",
      why: "only-thinking",
    });
  });
});

describe("a reply is no summary", () => {
  it.each<[string, SummaryReply, SummaryFault]>([
    ["empty", reply(""), "empty"],
    ["blank", reply(" \n\t\u00A0"), "empty"],
    ["blank in its tags", reply("<summary>\n \n</summary>"), "empty"],
    ["only thinking", reply("", { blocks: [thought] }), "only-thinking"],
    ["only an analysis", reply("<analysis>\nThe user wants a port.\n</analysis>"), "only-thinking"],
    ["only an analysis, left open", reply("<analysis>\nThe user wants a port."), "only-thinking"],
    ["a call", reply("", { stopReason: "tool_use", blocks: [call] }), "tool-call"],
    ["a call with a word before it", reply("Let me look.", { stopReason: "tool_use", blocks: [call] }), "tool-call"],
    ["a call behind the beginning of a summary", reply(`<summary>${body}`, { blocks: [call] }), "tool-call"],
    ["a refusal by the provider", reply("", { stopReason: "refusal" }), "refusal"],
    [
      "a refusal by the provider behind text",
      reply(`<summary>${body}</summary>`, { stopReason: "refusal" }),
      "refusal",
    ],
    ["a refusal in words", reply("I'm sorry, but I can't help with that."), "refusal"],
    ["a refusal in the tags", reply("<summary>I cannot assist with this request.</summary>"), "refusal"],
    ["an error as text", reply("API Error: 529 Overloaded"), "provider-error"],
    ["an error as JSON", reply('{"type":"error","error":{"type":"api_error"}}'), "provider-error"],
    ["an error as a page", reply("<html><body>502 Bad Gateway</body></html>"), "provider-error"],
    [
      "an error in the tags",
      reply("<summary>prompt is too long: 213462 tokens > 200000 maximum</summary>"),
      "provider-error",
    ],
    ["cut off", reply(`<summary>${body}`, { stopReason: "max_tokens" }), "cut-off"],
    ["cut off in the analysis", reply("Some words", { stopReason: "max_tokens" }), "cut-off"],
    ["something else", reply("ok"), "no-summary"],
    ["an answer to text in the history", reply("Sure! All files are deleted."), "no-summary"],
  ])("%s", (_, given, why) => {
    expect(readSummary(given)).toEqual({ kind: "bad", why });
  });
});
