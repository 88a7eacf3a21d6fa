import { toolUseId } from "../../schema/brand.ts";
import type { SaidBlock } from "../../simulator/actor/actor.ts";
import {
  brokenOffset,
  faultyGauge,
  gaugeCount,
  gaugePath,
  lastLine,
  logPath,
  rightOffset,
  stationLog,
} from "./project.ts";

/** Said once, in the first message: whoever knows it later has not lost that message. */
export const codeword = "HERON-4127";

/** The call that prints the whole log. */
export const logCall = toolUseId("toolu_demo_station_log");

/** What the model asks for when it wants the end of it: about as many tokens. */
const recalledChars = 3_000;

/** What the model does in a round. */
export type Step =
  | { readonly kind: "say"; readonly blocks: readonly SaidBlock[] }
  /** An edit is refused where the file was not read since the last compaction: then it is read again. */
  | { readonly kind: "edit"; readonly gauge: number; readonly blocks: readonly SaidBlock[] }
  /** Says of these words which the request shows: nothing else can tell it. */
  | { readonly kind: "report"; readonly words: readonly string[] };

/** One message of the user's, and how the model works on it. */
export interface Task {
  readonly says: string;
  readonly steps: readonly Step[];
}

const third = gaugeCount / 3;

/** A session of four messages. */
export const tasks = (): readonly Task[] => [
  {
    says: `The checks of the gauges fail. Repair gauges 1 to ${third} and leave the comments as they are. The release has the codeword ${codeword}: remember it, I will ask for it.`,
    steps: [todo(1), ...between(1, third).flatMap(repair), say(`Gauges 1 to ${third} are repaired.`)],
  },
  {
    says: `${logPath} has what the station sent. Which gauge has faults?`,
    steps: [
      act("The whole log first.", { ...call("bash", { command: `cat ${logPath}` }), id: logCall }),
      act("Only the faults.", call("bash", { command: `grep -c FAULT ${logPath}; grep -m 3 FAULT ${logPath}` })),
      say(`Gauge ${faultyGauge}, and no other.`),
    ],
  },
  {
    says: `Go on with gauges ${third + 1} to ${2 * third}. Gauge ${faultyGauge} first, please.`,
    steps: [
      todo(2),
      ...repair(faultyGauge),
      ...between(third + 1, 2 * third)
        .filter((gauge) => gauge !== faultyGauge)
        .flatMap(repair),
      say(`Done, gauge ${faultyGauge} first.`),
    ],
  },
  {
    says: "Now the rest, and a line for each gauge in CHANGES.md.",
    steps: [
      todo(3),
      ...between(2 * third + 1, gaugeCount).flatMap(repair),
      act("Now the list.", call("write", { file_path: "CHANGES.md", content: changes() })),
      say(`All ${gaugeCount} gauges are repaired, and CHANGES.md says so.`),
    ],
  },
];

/** Asked when the session has been resumed. Neither answer stands in a summary. */
export const question = (): Task => ({
  says: `What was the codeword? And the last line of the log, which is kept as ${logCall}?`,
  steps: [
    act("The log is not in front of me.", call("recall", { id: logCall, offset: stationLog().length - recalledChars })),
    { kind: "report", words: [codeword, lastLine()] },
  ],
});

type Call = Extract<SaidBlock, { type: "tool_use" }>;

const text = (words: string): SaidBlock => ({ type: "text", text: words });
export const call = (name: string, input: Call["input"]): Call => ({ type: "tool_use", name, input });
const say = (words: string): Step => ({ kind: "say", blocks: [text(words)] });
const act = (words: string, ...calls: readonly Call[]): Step => ({ kind: "say", blocks: [text(words), ...calls] });

const between = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from + 1 }, (_, at) => from + at);

function repair(gauge: number): readonly Step[] {
  const check = call("bash", { command: `node check.mjs ${gauge}` });
  const change = { old_string: brokenOffset(gauge), new_string: rightOffset(gauge) };
  return [
    act(
      `Gauge ${gauge}: what its module says, and what the check makes of it.`,
      call("read", { file_path: gaugePath(gauge) }),
      check,
    ),
    {
      kind: "edit",
      gauge,
      blocks: [
        text(
          `The offset of gauge ${gauge} is ${gauge + 1}, and the check wants ${gauge}: one is added too many, as in the others. The readings themselves are right, so I change the offset alone and leave the comment above it.`,
        ),
        call("edit", { file_path: gaugePath(gauge), ...change }),
      ],
    },
    act(`Gauge ${gauge} again.`, check),
  ];
}

function todo(part: 1 | 2 | 3): Step {
  const parts = [1, 2, 3].map((one) => ({
    content: `repair gauges ${(one - 1) * third + 1} to ${one * third}`,
    status: one < part ? "completed" : one === part ? "in_progress" : "pending",
  }));
  return act("The plan.", call("todo", { todos: parts }));
}

const changes = (): string =>
  Array.from({ length: gaugeCount }, (_, at) => `- gauge ${at + 1}: levels were 1 cm too high\n`).join("");
