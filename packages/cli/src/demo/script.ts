import { logCall, logPath, longCommand } from "./facts.ts";
import { fixing, todos } from "./fixing.ts";
import type { Seen } from "./seen.ts";
import { act, always, bash, call, knowing, type Played, type Task } from "./step.ts";
import { tidying } from "./tidying.ts";

/** The session, message by message. */
export const tasks = (): readonly Task[] => [fixing(), asking(), tidying(), closing()];

export const asking = (): Task => ({
  says: `Did the night's log show it already? It is ${logPath}.`,
  steps: [
    always("The whole log.", { ...bash(`cat ${logPath}`), id: logCall }),
    always(
      "That is too much to look through by eye.",
      call("grep", { pattern: "DISAGREES", path: logPath, output: "content", head_limit: 1 }),
    ),
    knowing({
      pattern:
        /(?<time>\d\d:\d\d:\d\d) bulletin (?<station>\w+) [\d-]+ says (?<said>\d+) cm, its gauge (?<real>\d+) cm/,
      look: call("grep", { pattern: "DISAGREES", path: logPath, output: "content", head_limit: 1 }),
      play: ({ time = "", station = "", said = "", real = "" }) =>
        act(`Yes, at ${time}: the bulletin of ${station} said ${said} cm and its gauge ${real} cm.`),
    }),
  ],
});

export const closing = (): Task => ({
  says: "Good. Now CHANGES.md, with the release that I named.",
  steps: [
    (seen) => {
      const named = seen.find(/release (?<name>\d+\.\d+\.\d+-[a-z]+)/)?.["name"] ?? "unknown";
      const lines = [
        `# ${named}`,
        "",
        "- Late readings count for the right day.",
        "- Times are written with the helpers of clock.js.",
        "",
      ];
      return act(`That was ${named}.`, call("write", { file_path: "CHANGES.md", content: lines.join("\n") }), todos(5));
    },
    always("Done: CHANGES.md has both changes."),
  ],
});

/** Asked when the session has been resumed: neither answer was ever in a summary, and one was never shown at all. */
export const question = (): Task => ({
  says: "Two things for the report: what did the test say at first, and what did the log say of QUERN?",
  steps: [
    always(
      "Neither is in front of me: I look it up in what was said.",
      call("recall", { query: '"Expected values to be strictly equal"' }),
      call("recall", { query: "bulletin QUERN DISAGREES" }),
    ),
    (seen) => {
      const said = seen.find(/(?<said>\d+ !== \d+)/)?.["said"];
      const log = seen.find(/(?<log>\d\d:\d\d:\d\d bulletin QUERN .*DISAGREES)/)?.["log"];
      if (said === undefined || log === undefined) return recallHits(seen);
      return act(`The test said “${said}”. The log said “${log}”.`);
    },
  ],
});

/** What the hits only quote a line of, in full. */
function recallHits(seen: Seen): Played {
  const ids = seen.findAll(/^(?:result|call) (?<id>[^\s,]+), of bash/).map(({ id = "" }) => id);
  const calls = ids.slice(0, 2).map((id) => call("recall", { id, limit: 5_000 }));
  return { ...act("The whole of what was found.", ...calls), step: "waits" };
}

/** What the session is in the middle of when it is killed. */
export const waiting = (): Task => ({
  says: "Watch the gauges for a while.",
  steps: [always("I watch them.", bash(longCommand))],
});
