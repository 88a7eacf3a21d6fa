import { progressQuestion } from "palimpsest/internal/layers/7-agents/progress-prompt";
import { describe, expect, it } from "vitest";
import {
  answers,
  assistantSays,
  blocksSaid,
  calls,
  delivered,
  requestOf,
  said,
  tool,
  userSays,
} from "../../../../test/fixture/scene.ts";
import { textField } from "palimpsest/internal/schema/json";
import { extractResponder, type ExtractTask, classifyTask } from "./extract-responder.ts";

const edit = tool("Edit", ["file_path", "old_string", "new_string"]);
const write = tool("Write", ["file_path", "content"]);
const tools = [edit, write, tool("Bash", ["command"])];

/** A failing test that was repaired, with one todo left. */
const work = [
  userSays(
    "Fix the failing test in `test/a.test.ts`.\nThen tell me why it failed.",
    "<system-reminder>secret aside</system-reminder>",
  ),
  assistantSays("Let me look.", calls("t1", "Read", { file_path: "test/a.test.ts" })),
  answers("t1", "expect(sum(1, 2)).toBe(3)"),
  assistantSays(calls("t2", "Bash", { command: "npx vitest run test/a.test.ts" })),
  answers("t2", "AssertionError: expected 4 to be 3", { is_error: true }),
  assistantSays(
    "The sum is off by one.",
    calls("t3", "Edit", { file_path: "src/sum.ts", old_string: "a + b + 1", new_string: "a + b" }),
  ),
  answers("t3", "edited"),
  assistantSays(
    calls("t4", "TodoWrite", {
      todos: [
        { content: "Fix sum", status: "completed" },
        { content: "Explain why", status: "pending" },
      ],
    }),
  ),
  answers("t4", "ok"),
  assistantSays("It works now. Next I explain."),
  userSays("I prefer short answers. Always run the linter first."),
  assistantSays("Noted."),
];

const asked = (ask: string, more: object = {}): ReturnType<typeof requestOf> =>
  requestOf([...work, userSays(ask)], { tools, ...more });
const answerTo = async (request: ReturnType<typeof requestOf>): Promise<string> =>
  said(await delivered(extractResponder, request));

describe("what is asked for, told by its words", () => {
  it.each<[ExtractTask, string, object]>([
    ["summary", "Write an <analysis>, then a <summary> with nine sections. Text only.", {}],
    ["summary", "Please summarise our conversation so far.", {}],
    [
      "summary",
      "Provide a detailed prompt for continuing.",
      { system: "You are tasked with summarizing conversations." },
    ],
    ["summary", "Please summarize", {}],
    ["summary", "Summarize this function for me", {}],
    ["summary", "Give me a short summary.", {}],
    ["summary", "Sum all of this up.", {}],
    ["other", "The summary page does not load", {}],
    ["notes", "Take notes on what we did.", {}],
    ["memories", "Add what matters to memory.", {}],
    ["progress", "Send me a progress report.", {}],
    ["other", "Write a title that summarises the conversation", {}],
    ["notes", "Update the notes file `/s/session-memory/summary.md` with the edit tool.", {}],
    ["other", "Update the notes file notes.md", { tools: [] }],
    ["memories", "Extract memories worth keeping from the messages above into memory/.", {}],
    ["memories", "Save what lasts as memories; one note a memory, memory files only.", {}],
    ["progress", "Describe what you are doing in 3-5 words, present tense.", {}],
    ["progress", "Describe the current action in three to five words.", {}],
    ["progress", "What now?", { system: "You write status lines of 3–5 words." }],
    ["other", "What now?", { system: "Describe each sub-task in 3-5 words." }],
    ["other", "Read my notes on the bug", {}],
    ["other", "The process runs out of memory", {}],
    ["other", "Carry on", {}],
  ])("%s: %s", (task, ask, more) => {
    expect(classifyTask(asked(ask, more))).toBe(task);
  });

  it("echoes what it does not know", async () => {
    expect(await answerTo(asked("Carry on"))).toBe("You wrote: “Carry on”");
  });
});

describe("summary", () => {
  const ask = "Text only: an <analysis>, then a <summary>.";
  const section = (text: string, number: number): string =>
    new RegExp(`^${number}\\. [^\\n]+\\n(.*?)(?=\\n\\n${number + 1}\\. |\\n</summary>)`, "ms").exec(text)?.[1] ?? "";

  it("has nine sections made of the conversation's own words", async () => {
    const text = await answerTo(asked(ask));
    expect(text).toMatch(/^<analysis>.*<\/analysis>\s+<summary>.*<\/summary>$/s);
    expect([...text.matchAll(/^\d\. ([^:]+):$/gm)].map(([, title]) => title)).toEqual([
      "Primary Request and Intent",
      "Key Technical Concepts",
      "Files and Code Sections",
      "Errors and Fixes",
      "Problem Solving",
      "All User Messages",
      "Pending Tasks",
      "Current Work",
      "Optional Next Step",
    ]);
    expect(section(text, 1)).toBe("Fix the failing test in `test/a.test.ts`.\nThen tell me why it failed.");
    expect(section(text, 2)).toContain("`test/a.test.ts`");
    expect(section(text, 3)).toBe("- test/a.test.ts (read)\n- src/sum.ts (changed)\n```\na + b\n```");
    expect(section(text, 4)).toBe(
      "- Bash npx vitest run test/a.test.ts: AssertionError: expected 4 to be 3 (then Edit src/sum.ts)",
    );
    expect(section(text, 5)).toContain("The sum is off by one.");
    expect(section(text, 7)).toBe("- Explain why");
    expect(section(text, 8)).toContain("Noted.");
    expect(section(text, 9)).toBe("- Explain why");
  });

  it("lists every user message verbatim, without reminders and the request itself", async () => {
    expect(section(await answerTo(asked(ask)), 6)).toBe(
      "- Fix the failing test in `test/a.test.ts`.\nThen tell me why it failed.\n- I prefer short answers. Always run the linter first.",
    );
  });

  it("counts what looks like an error though nobody marked it, and files that were only named", async () => {
    const request = requestOf([
      userSays("Look at docs/plan.md first."),
      assistantSays(calls("t1", "Bash", { command: "npm test" })),
      answers("t1", "> test\n 2 failed, 3 passed\n at src/deep/sum.ts:3 (see https://example.org/a/b.html)"),
      assistantSays(calls("t2", "Read", { file_path: "log.txt" })),
      answers("t2", "All is well.\nError: an old one, quoted in a file"),
      userSays(ask),
    ]);
    const text = await answerTo(request);
    expect(text).toContain("2 calls, 1 of them failed, 3 files");
    expect(section(text, 3)).toBe("- docs/plan.md (named)\n- src/deep/sum.ts (named)\n- log.txt (read)");
    expect(section(text, 4)).toContain("Bash npm test: > test 2 failed");
  });

  it("calls no tool, though all are offered", async () => {
    expect(blocksSaid(await delivered(extractResponder, asked(ask))).map(({ type }) => type)).toEqual(["text"]);
  });

  it("carries the user messages and the request of an earlier summary", async () => {
    const first = await answerTo(asked(ask));
    const again = requestOf([
      userSays(first),
      assistantSays("Going on."),
      userSays("Now the docs"),
      assistantSays("Yes."),
      userSays(ask),
    ]);
    const text = await answerTo(again);
    expect(section(text, 1)).toMatch(/^Fix the failing test/);
    expect(section(text, 6)).toMatch(/^- Fix the failing test.*\n- I prefer short answers.*\n- Now the docs$/s);
  });

  it("ends as a partial compaction asks for", async () => {
    expect(await answerTo(asked(`${ask} Section 8 is Work Completed.`))).toMatch(
      /8\. Work Completed:.*9\. Context for Continuing Work:/s,
    );
  });

  it("reads a conversation that was written out as one text", async () => {
    const text = await answerTo(
      requestOf("<conversation>\n[User]: Fix it\n\n[Assistant]: Done\n</conversation>\nAnswer with a <summary>."),
    );
    expect(section(text, 6)).toBe("- Fix it");
  });
});

describe("notes", () => {
  const template =
    "# Session Title\n_A short title_\n\n# Current State\n_What is going on_\n\n# Learnings\n_What was learned_\n";
  const ask = `Update the notes file at "/s/my notes/summary.md" with the edit tool.\n<current_notes>\n${template}</current_notes>\nNothing else.`;

  it("fills sections with edits that fit the file, and leaves those it knows nothing for", async () => {
    const blocks = blocksSaid(await delivered(extractResponder, asked(ask)));
    expect(blocks.map((block) => (block.type === "tool_use" ? [block.name, block.input["file_path"]] : []))).toEqual([
      ["Edit", "/s/my notes/summary.md"],
      ["Edit", "/s/my notes/summary.md"],
    ]);
    let file = template;
    for (const block of blocks) {
      if (block.type !== "tool_use") continue;
      const [before, after] = [textField(block.input, "old_string") ?? "", textField(block.input, "new_string") ?? ""];
      expect(file.split(before)).toHaveLength(2);
      file = file.replace(before, after);
    }
    expect(file).toContain(
      "# Session Title\n_A short title_\n\nFix the failing test in `test/a.test.ts`. Then tell me why",
    );
    expect(file).toContain("# Current State\n_What is going on_\n\n- Noted.");
    expect(file).toContain("# Learnings\n_What was learned_\n");
  });

  it("finds the sections without an element around them, and stops where the file does", async () => {
    const blocks = blocksSaid(
      await delivered(
        extractResponder,
        asked(`Update the notes file n.md:\n\`\`\`\n${template}\`\`\`\n# Rules\nOnly edits.`),
      ),
    );
    expect(JSON.stringify(blocks)).not.toContain("Rules");
    expect(blocks).toHaveLength(2);
  });

  it("uses the field names of the tool that is offered", async () => {
    const request = asked(ask, { tools: [tool("str_replace_based_edit", ["path", "old_str", "new_str"])] });
    const [block] = blocksSaid(await delivered(extractResponder, request));
    expect(Object.keys(block?.type === "tool_use" ? block.input : {})).toEqual(["path", "old_str", "new_str"]);
  });

  it("ends once its edits were answered, and where nothing changed", async () => {
    const edited = requestOf([...work, userSays(ask), assistantSays(calls("e1", "Edit", {})), answers("e1", "ok")], {
      tools,
    });
    expect(await answerTo(edited)).toBe("The notes are up to date.");
    const empty = requestOf(ask, { tools });
    expect(await answerTo(empty)).toBe("The notes are up to date.");
  });
});

describe("memories", () => {
  const ask = "Extract lasting memories into /home/me/.x/memory/ and index them in /home/me/.x/memory/MEMORY.md.";

  it("writes one file with front matter for each lasting statement", async () => {
    const blocks = blocksSaid(await delivered(extractResponder, asked(ask)));
    const files = blocks.flatMap((block) => (block.type === "tool_use" ? [block.input] : []));
    expect(files).toEqual([
      {
        file_path: "/home/me/.x/memory/user_i_prefer_short_answers.md",
        content:
          '---\nname: "user i prefer short answers"\ndescription: "I prefer short answers."\ntype: user\n---\n\nI prefer short answers.\n',
      },
      {
        file_path: "/home/me/.x/memory/feedback_always_run_the_linter_first.md",
        content: expect.stringContaining("**How to apply:**") as string,
      },
    ]);
  });

  it.each([
    ["We decided to ship on 2026-12-01.", "project"],
    ["Remember the dashboard at https://grafana.example/x.", "reference"],
    ["I'm a nurse, not a programmer.", "user"],
    ["Never push to main.", "feedback"],
  ])("%s is of type %s", async (statement, type) => {
    expect(await answerTo(requestOf([userSays(statement), assistantSays("Yes."), userSays(ask)], { tools }))).toContain(
      `type: ${type}`,
    );
  });

  it.each([
    ["passing remarks", "Rename the variable."],
    ["questions", "Do you always do that?"],
    ["secrets", "Remember that the api key is sk-123."],
  ])("writes nothing for %s", async (_, statement) => {
    const request = requestOf([userSays(statement), assistantSays("Yes."), userSays(ask)], { tools });
    expect(await answerTo(request)).toBe("There is nothing more to remember.");
  });

  it("does not write again what the request lists already", async () => {
    expect(await answerTo(asked(`${ask} There is user_i_prefer_short_answers.md already.`))).not.toContain("I prefer");
  });

  it("writes with the edit tool where it is the only one", async () => {
    const [block] = blocksSaid(await delivered(extractResponder, asked(ask, { tools: [edit] })));
    expect(block).toMatchObject({ name: "Edit", input: { old_string: "" } });
  });
});

describe("progress line", () => {
  const line = (name: string, input: object): Promise<string> =>
    answerTo(
      requestOf([
        userSays("Go"),
        assistantSays(calls("t1", name, input)),
        answers("t1", "ok"),
        userSays("Say it in 3-5 words"),
      ]),
    );

  it.each<[string, object, string]>([
    ["Read", { file_path: "/project/src/loop.ts" }, "Reading loop.ts in src"],
    ["edit", { path: "loop.ts" }, "Editing loop.ts right now"],
    ["Bash", { command: "npm run check --silent --workspace a" }, "Running npm run check --silent"],
    ["Grep", { pattern: "retry" }, "Searching retry right now"],
    ["mystery", {}, "Using mystery right now"],
  ])("%s %o: %s", async (name, input, expected) => {
    const found = await line(name, input);
    expect(found).toBe(expected);
    expect(found.split(" ").length).toBeGreaterThanOrEqual(3);
    expect(found.split(" ").length).toBeLessThanOrEqual(5);
  });

  it("finds the newest call in an excerpt of the messages, as the small call of the engine sends it", async () => {
    const excerpt = [
      "task: Go",
      'call: read {"file_path":"src/a.ts"}',
      "result: ok",
      'call: edit {"path":"src/loop.ts"}',
      "result: call: read {}",
    ].join("\n");
    expect(await answerTo(requestOf(progressQuestion(excerpt)))).toBe("Editing loop.ts in src");
  });

  it("has a line before the first call", async () => {
    expect(await answerTo(requestOf("Say it in three to five words"))).toBe("Thinking about the request");
  });
});
