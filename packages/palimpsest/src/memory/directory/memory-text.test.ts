import { describe, expect, it } from "vitest";
import { formatMemory, parseMemory } from "./memory-text.ts";

describe("a memory's text", () => {
  it("is read back as it was written", () => {
    const values = [
      { name: "Tabs", description: "Prefers tabs: never spaces", type: "feedback", body: "Use tabs.\n\nSecond." },
      { name: 'The "odd" one', description: "- starts like a list", type: "user", body: "---\nnot front matter" },
      { name: "true", description: "42", type: "reference", body: "x" },
      { name: "Größe", description: "日本語 # not a comment", type: "project", body: "y" },
      { name: String.raw`a\b`, description: "ends with a colon:", type: "project", body: "z" },
    ] as const;
    for (const value of values)
      expect(parseMemory(formatMemory(value), "a.md")).toEqual({ ...value, body: `${value.body}\n`, otherLines: [] });
  });

  it("keeps lines of the front matter that mean nothing here", () => {
    const text =
      "---\nname: A\nmodified: 2026-01-02\nmetadata:\n  node: 1\n  more: 2\ndescription: b\ntype: user\n---\nbody\n";
    const parsed = parseMemory(text, "a.md");
    expect(parsed.otherLines).toEqual(["modified: 2026-01-02", "metadata:", "  node: 1", "  more: 2"]);
    expect(formatMemory(parsed)).toBe(
      "---\nname: A\ndescription: b\ntype: user\nmodified: 2026-01-02\nmetadata:\n  node: 1\n  more: 2\n---\n\nbody\n",
    );
  });

  it("reads quoted and folded values, Windows line ends and a comment", () => {
    const text = "---\r\nname: 'It''s'\r\ndescription: >\r\n  goes\r\n  on\r\ntype: \"User\" \r\n---\r\n\r\nbody";
    expect(parseMemory(text, "a.md")).toMatchObject({
      name: "It's",
      description: "goes on",
      type: "user",
      body: "body",
    });
    expect(parseMemory("---\nname: a # b\n---\n", "x.md").name).toBe("a");
  });

  it.each([
    [
      "plain text",
      "# Heading\n\n- first\n",
      "feedback-tests.md",
      { name: "Feedback tests", description: "Heading", type: "feedback" },
    ],
    ["an unclosed head", "---\nname: x\nbody", "a.md", { name: "A", description: "name: x" }],
    ["an empty file", "", "notes/some_thing.txt", { name: "Some thing", description: "", type: undefined }],
    ["a type of another tool", "---\nname: A\ntype: skill\n---\nb", "user.md", { type: undefined }],
  ])("without front matter of ours: %s", (_, text, path, expected) => {
    expect(parseMemory(text, path)).toMatchObject(expected);
  });

  it("has a name and a description of one line each, whatever was given", () => {
    const { name, description } = parseMemory(
      formatMemory({ name: "a\nb", description: "x".repeat(1_000), type: "user", body: "" }),
      "a.md",
    );
    expect(name).toBe("a b");
    expect(description).toHaveLength(300);
  });
});
