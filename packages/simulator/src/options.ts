import type { ModelOverride } from "palimpsest/internal/schema/model";
import type { Actor } from "./actor/actor.ts";
import type { SimulatorClock } from "./clock.ts";
import { extension, type ExtensionOptions } from "./extension.ts";
import type { FaultChoice } from "./fault-choice.ts";
import type { BindingMode } from "./thinking.ts";
import type { TraceWriter } from "./trace/writer.ts";

export interface SimulatorOptions extends ExtensionOptions {
  /** Who answers; `echo` where it is absent. */
  readonly actor?: Actor;
  /** Ids, signatures and chance are the same for the same seed. */
  readonly seed?: number;
  /** Stands still where it is absent. */
  readonly clock?: SimulatorClock;
  /** On top of the models that we know. */
  readonly models?: readonly ModelOverride[];
  readonly faults?: FaultChoice;
  readonly trace?: TraceWriter;
  /** How strictly thinking is bound to its prefix on models that bind it. */
  readonly binding?: BindingMode;
}

type OptionName = keyof SimulatorOptions;

/** What an option has to have, as callers without a compiler can be told. */
const wantByOption: Readonly<Record<OptionName, readonly [isRight: (value: unknown) => boolean, what: string]>> = {
  actor: [has("play"), "an actor: an object with play(scene), such as extractActor or scriptActor(scenario)"],
  seed: [Number.isSafeInteger, "a whole number"],
  clock: [has("now"), "a clock: virtualClock() or realClock()"],
  models: [Array.isArray, "a list of models"],
  faults: [has("choose"), "a FaultChoice"],
  trace: [has("request"), "a TraceWriter"],
  binding: [(value) => value === "enforced" || value === "reported", "enforced or reported"],
  ...extension.optionWants,
};

/** Throws on an option that there is not, or that could only fail later. */
export function checkOptions(options: SimulatorOptions): void {
  for (const [name, value] of Object.entries(options)) {
    if (!isOption(name)) throw new TypeError(`the simulator has no option ${name}; ${adviceFor(name)}`);
    const [isRight, what] = wantByOption[name];
    if (value !== undefined && !isRight(value))
      throw new TypeError(`the simulator's option ${name} must be ${what}, not ${typeof value}`);
  }
}

const isOption = (name: string): name is OptionName => Object.hasOwn(wantByOption, name);

const adviceFor = (name: string): string =>
  name === "scenario"
    ? "read it with readScenario(file) and give `actor: scriptActor(reading.scenario)`"
    : `options: ${Object.keys(wantByOption).join(", ")}`;

function has(method: string): (value: unknown) => boolean {
  return (value) => typeof value === "object" && value !== null && typeof Reflect.get(value, method) === "function";
}
