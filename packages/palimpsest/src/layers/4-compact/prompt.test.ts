import { describe, expect, it } from "vitest";
import { countTokens } from "@palimpsest/simulator/internal/prompt/count-tokens";
import { fillTemplate } from "../../text/fill-template.ts";
import { plainSystemPrompt, type PromptValues, summaryPrompt } from "./prompt.ts";
import { summarySections, type SummaryVariant } from "./summary-sections.ts";

const variants: readonly SummaryVariant[] = ["all", "from", "up_to"];

/** It is paid for at every compaction, and not from the cache. */
const promptTokensMax = 1_600;

describe("the words asked for a summary with", () => {
  it.each(variants)("of %s are as they were reviewed", (variant) => {
    expect(summaryPrompt({ variant, previousSummary: "none" })).toMatchSnapshot();
  });

  it("are as they were reviewed with everything that can be added", () => {
    const text = summaryPrompt({
      variant: "up_to",
      previousSummary: "included",
      projectInstructions: "Keep the table of ports.",
      instructions: ["Mind the parser.", "From a hook: name the branch."],
    });
    expect(text).toMatchSnapshot();
  });

  it("in prose are as they were reviewed, and short", () => {
    const text = summaryPrompt({
      variant: "all",
      previousSummary: "included",
      form: "prose",
      projectInstructions: "Keep the table of ports.",
      instructions: ["Mind the parser."],
    });
    expect(text).toMatchSnapshot();
    expect(countTokens(text)).toBeLessThan(promptTokensMax / 2);
    expect(text).not.toMatch(/\{\{|\n{3}|<analysis>|Key Technical Concepts/);
  });

  it("say what becomes of the notes before the summary", () => {
    const asked = (analysis?: "stripped" | "kept") =>
      summaryPrompt({ variant: "all", previousSummary: "none", analysis });
    expect(asked("kept")).toContain("This part stays in front of the summary.");
    expect(asked("kept")).not.toContain("thrown away.\n\nThen");
    expect(asked("stripped")).toBe(asked());
  });

  it("give way to the user's own, whatever the form", () => {
    expect(summaryPrompt({ variant: "all", previousSummary: "none", form: "prose", template: "Mine." })).toBe("Mine.");
  });

  it("of the plain call's system prompt are as they were reviewed", () => {
    expect(plainSystemPrompt).toMatchSnapshot();
  });

  it.each(variants)("of %s stay short", (variant) => {
    expect(countTokens(summaryPrompt({ variant, previousSummary: "included" }))).toBeLessThanOrEqual(promptTokensMax);
  });

  it.each(variants)("of %s ask for text only, at the start and at the end", (variant) => {
    const lines = summaryPrompt({ variant, previousSummary: "none", instructions: ["Mind the parser."] }).split("\n");
    for (const line of [lines[0], lines.at(-1)]) expect(line).toMatch(/text only.*tool/i);
  });

  it.each(variants)("of %s leave no placeholder and no gap", (variant) => {
    const text = summaryPrompt({ variant, previousSummary: "none" });
    expect(text).not.toMatch(/\{\{|\n{3}/);
  });
});

describe("sections", () => {
  it("are nine, in the order of the spec", () => {
    const titles = [
      "Primary Request and Intent",
      "Key Technical Concepts",
      "Files and Code Sections",
      "Errors and Fixes",
      "Problem Solving",
      "All User Messages",
      "Pending Tasks",
      "Current Work",
      "Optional Next Step",
    ];
    expect(summarySections("all").map(({ title }) => title)).toEqual(titles);
    expect(summarySections("from")).toEqual(summarySections("all"));
  });

  it("up to a message, the eighth tells what was completed, and one is added for those who go on", () => {
    const titles = summarySections("up_to").map(({ title }) => title);
    expect(titles.slice(0, 7)).toEqual(
      summarySections("all")
        .slice(0, 7)
        .map(({ title }) => title),
    );
    expect(titles.slice(7)).toEqual(["Work Completed", "Optional Next Step", "Context for Continuing Work"]);
  });
});

describe("what people ask of a summary", () => {
  it("stands in order: the project's, the user's, the hooks'", () => {
    const text = summaryPrompt({
      variant: "all",
      previousSummary: "none",
      projectInstructions: "PROJECT",
      instructions: ["USER", "HOOK"],
    });
    const places = ["PROJECT", "USER", "HOOK"].map((word) => text.indexOf(word));
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    expect(places).not.toContain(-1);
  });

  it("is nothing where it is blank", () => {
    const blank = summaryPrompt({
      variant: "all",
      previousSummary: "none",
      projectInstructions: " \n",
      instructions: ["", " "],
    });
    expect(blank).toBe(summaryPrompt({ variant: "all", previousSummary: "none" }));
  });
});

describe("a prompt of the user's own", () => {
  const values: PromptValues = { scope: "S", previous: "", sections: "$& {{scope}}", project: "", instructions: "I" };

  it.each([
    ["a value stands in place of its name", "a {{scope}} b {{scope}}", "a S b S"],
    ["an empty value takes the gap behind it along", "a\n\n{{previous}}\n\nb", "a\n\nb"],
    ["a value is put in as it is", "{{sections}}", "$& {{scope}}"],
    ["a name that is none of ours stays", "{{other}} {{toString}}", "{{other}} {{toString}}"],
  ])("%s", (_, template, filled) => {
    expect(fillTemplate(template, values)).toBe(filled);
  });

  it("keeps its words and gets what was asked for even where it has no place for it", () => {
    const input = { variant: "all", previousSummary: "none", instructions: ["Mind the parser."] } as const;
    expect(summaryPrompt({ ...input, template: "Sum up." })).toMatch(/^Sum up\.\n\n# .*\nMind the parser\.$/);
    expect(summaryPrompt({ ...input, template: "{{instructions}}\nSum up." })).toMatch(/Mind the parser\.\nSum up\.$/);
  });
});

describe("of an earlier summary", () => {
  const said = /summary of what came even earlier/;

  it.each(["all", "up_to"] as const)("%s takes over what matters", (variant) => {
    expect(summaryPrompt({ variant, previousSummary: "included" })).toMatch(said);
    expect(summaryPrompt({ variant, previousSummary: "none" })).not.toMatch(said);
  });

  it("from a message on nothing is said: it stays", () => {
    expect(summaryPrompt({ variant: "from", previousSummary: "included" })).not.toMatch(said);
  });
});

it("from a message on, the prompt says where that begins and that the kept part is not to be summarised again", () => {
  const text = summaryPrompt({ variant: "from", previousSummary: "none", beginsWith: 'now "port" it' });
  expect(text).toContain('starts: "now \\"port\\" it"');
  expect(text).toContain("the kept part is not to be summarised again");
});

it("a message that a partial summary begins with can't add to the task", () => {
  const text = summaryPrompt({
    variant: "from",
    previousSummary: "none",
    beginsWith: `a\n\n# Form\n${"x".repeat(500)}`,
  });
  expect(text.match(/^# Form$/gm)).toHaveLength(1);
  expect(text).not.toContain("x".repeat(200));
});
