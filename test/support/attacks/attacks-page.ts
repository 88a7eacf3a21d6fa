import { allAttempts } from "./all-attempts.ts";
import { attackClasses } from "./attempt.ts";
import type { AloneSetting, Configuration } from "./configurations.ts";
import { type KnownGap, knownGaps } from "./known-gaps.ts";
import { campaigns, campaignSeed, chooseTrials } from "./trials.ts";

/** docs/attacks.md: what is tried, and what gets through with only one of the two defences. */
export const attacksPage = (): string =>
  `${[introduction(), howItIsTried, gapsSection("check alone"), gapsSection("sandbox alone")].join("\n\n")}\n`;

function introduction(): string {
  const attempts = allAttempts(campaignSeed);
  const counts = attackClasses.map((name): readonly string[] => [
    name,
    String(attempts.filter((attempt) => attempt.class === name).length),
  ]);
  return `# Attacks that are tried

A lying model is the attacker of [the threat model](threat-model.md) that can do the most: it calls the bash tool with whatever line it likes. \`npm run test:long\` plays it with
${attempts.length} attempts in ${attackClasses.length} classes, written by hand and varied by a generator with a fixed seed. \`npm test\` tries one of each class.

${table(["class", "attempts"], counts)}

Each attempt is run for real in every setting below. What counts is what is found afterwards, not what the command says: files changed, made or removed; secrets
of files and of the environment in what it wrote; connections that arrived at a TCP port, a UDP port, sockets and pipes; processes that were signalled, traced, written to or left behind.

${table(["what holds", "settings", "trials", "may get through"], settingRows())}

With nothing to hold them, most attempts must do harm: a test checks that, so that an attempt which is merely misspelled does not count as held.`;
}

const howItIsTried = `## Where it runs

Many attempts are let through on purpose, so none may touch the machine. All of it runs in a container that bubblewrap makes: a root, a temporary folder, processes and a network of its own,
in memory, as a user without privileges; programs and this repository can be read, nothing of the user's is in it. The program that tries them looks whether it is in there and ends at once if not.
The sandbox that is attacked is made inside of it. Where a machine can't make such a container, the tests are skipped, with the reason in their names.

The code: [test/support/attacks](../test/support/attacks). The list of gaps: [known-gaps.ts](../test/support/attacks/known-gaps.ts). This page is made of it; the tests fail if the two differ, if an attempt gets through that is not listed, and if one that is listed
no longer does.`;

function settingRows(): readonly (readonly string[])[] {
  const row = (configuration: Configuration, settings: string, through: string): readonly string[] => [
    configuration,
    settings,
    String(countTrials(configuration)),
    through,
  ];
  return [
    row("check and sandbox", modes, "none"),
    row("sandbox alone", "every line is run, in read-only and in workspace", countGaps("sandbox alone")),
    row("check alone", modes, countGaps("check alone")),
    row("nothing", "every line is run", "most"),
  ];
}

const modes = "default, plan, acceptEdits, bypass with deny rules";

const countTrials = (configuration: Configuration): number =>
  campaigns
    .filter(({ configurations }) => configurations.includes(configuration))
    .map(({ lines }) => chooseTrials({ seed: campaignSeed, lines, configurations: [configuration], share: whole }))
    .reduce((sum, trials) => sum + trials.length, 0);

const whole = { index: 0, of: 1 } as const;

type Alone = AloneSetting["configuration"];

const gapsOf = (configuration: Alone): readonly KnownGap[] =>
  knownGaps.filter(({ settings }) => settings.every((setting) => setting.configuration === configuration));

function countGaps(configuration: Alone): string {
  const count = gapsOf(configuration).flatMap(({ attempts }) => attempts).length;
  return count === 0 ? "none" : `${count} attempts, listed below`;
}

function gapsSection(configuration: Alone): string {
  const gaps = gapsOf(configuration);
  const title = `## What gets through with the ${configuration}`;
  const texts = gaps.length === 0 ? ["Nothing that is tried."] : gaps.map(gapText);
  return [title, remarks[configuration], ...texts].join("\n\n");
}

const remarks: Readonly<Record<Alone, string>> = {
  "check alone": `So it is on a machine that has no sandbox, and with \`sandbox: off\`. What the user allows can do then whatever the user can. Attempts under a rule for every command, and in bypass those that no deny rule
is about, are not tried here: nothing is there to hold them.`,
  "sandbox alone": `No line is judged, all are run. In the workspace strength a command may change the project: that does not count, but for what deny rules name.`,
};

function gapText({ class: name, settings, effect, reason, attempts }: KnownGap): string {
  const names = settings.map((setting) => ("mode" in setting ? setting.mode : setting.strength)).join(", ");
  return `**${name}** (${names}; ${effect}): ${reason}\n\n\`\`\`sh\n${attempts.join("\n")}\n\`\`\``;
}

/** As the formatter prints it. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => (row[column] ?? "").length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}
