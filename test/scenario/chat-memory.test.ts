import { describe, expect, onTestFinished, test } from "vitest";
import type { ChoicePrompt } from "../../packages/cli/src/tui/chat-ui.ts";
import { compactionWorld } from "./support/compaction-world.ts";
import { type SlashWorld, slashWorld } from "./support/slash-world.ts";

async function openChat(): Promise<SlashWorld> {
  const world = await compactionWorld();
  const agent = await world.open({ kind: "new" }, { flags: [["off", "notes"]] });
  onTestFinished(() => agent.close());
  return slashWorld(world, agent);
}

/** Answers each dialog by its title. */
const answer = (chat: SlashWorld, byTitle: readonly (readonly [RegExp, string | undefined])[]): void => {
  chat.answers.choose = ({ title, choices }: ChoicePrompt) => {
    const wanted = byTitle.find(([shape]) => shape.test(title))?.[1];
    expect(wanted === undefined || choices.some(({ value }) => value === wanted), `${title}: ${wanted}`).toBe(true);
    return wanted;
  };
};

describe("# at the prompt", () => {
  test("saves a memory of the kind that the user picks; the likeliest is offered first", async () => {
    const chat = await openChat();
    chat.answers.choose = ({ at }) => at;
    await chat.run("# never push to main");
    expect(chat.asked.choices[0]?.at).toBe("feedback");
    expect(chat.said()).toContain("Saved as never-push-to-main.md");
    await chat.run("# Never push to main!");
    expect(chat.said()).toBe("That is remembered already, in never-push-to-main.md.");
  });

  test("Esc saves nothing and gives the text back", async () => {
    const chat = await openChat();
    await chat.run("# never push to main");
    expect(chat.said()).toBe("Not saved.");
    expect(chat.refilled).toEqual(["# never push to main"]);
  });

  test("a secret is refused with its kind, not repeated, and the text comes back", async () => {
    const chat = await openChat();
    chat.answers.choose = ({ at }) => at;
    const key = ["ghp", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"].join("_");
    await chat.run(`# the token is ${key}`);
    const said = chat.said();
    expect(said).toContain("looks like a secret");
    expect(said).not.toContain(key);
  });
});

describe("/memory", () => {
  test("lists, shows with its source, edits, reverts and forgets", async () => {
    const chat = await openChat();
    chat.answers.choose = ({ at }) => at;
    await chat.run("/memory");
    expect(chat.said()).toContain("no memories yet");
    await chat.run("# I work in Lisbon");
    chat.said();
    answer(chat, [
      [/Which memory/, "i-work-in-lisbon.md"],
      [/What with/, "edit"],
    ]);
    chat.answers.edit = ({ text }) => text.replace("Lisbon\n", "Porto\n");
    await chat.run("/memory");
    expect(chat.said()).toMatch(/I work in Lisbon[\s\S]*by you[\s\S]*trusted {2}yes[\s\S]*Saved as revision/);
    const newest = /r\d+/.exec(JSON.stringify(chat.acts.at(-1)))?.[0] ?? "";
    answer(chat, [
      [/What with/, "revert"],
      [/Take back which revision/, newest],
    ]);
    await chat.run("/memory i-work");
    expect(chat.said()).toContain(`Revision ${newest} was taken back`);
    answer(chat, [
      [/What with/, "forget"],
      [/with all revisions/, "yes"],
    ]);
    await chat.run("/memory i-work-in-lisbon");
    expect(chat.said()).toContain("Forgot 1 memory");
    await chat.run("/memory i-work");
    expect(chat.said()).toContain("No memory is called i-work");
  });
});
