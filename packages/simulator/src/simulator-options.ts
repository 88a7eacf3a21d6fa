import type { ModelOverride } from "palimpsest/internal/schema/model";
import type { Responder } from "./responder/responder.ts";
import type { SimulatorClock } from "./simulator-clock.ts";
import { extension, type ExtensionOptions } from "./extension.ts";
import type { FaultChoice } from "./fault/fault.ts";
import type { BindingMode } from "./prompt/thinking-seal.ts";
import type { TraceWriter } from "./trace/trace-writer.ts";

export interface SimulatorOptions extends ExtensionOptions {
  /** Produces the replies; `echo` if it is absent. */
  readonly responder?: Responder;
  /** Ids, signatures and random choices are the same for the same seed. */
  readonly seed?: number;
  /** A clock that stands still if it is absent. */
  readonly clock?: SimulatorClock;
  /** Added to the known models. */
  readonly models?: readonly ModelOverride[];
  readonly faults?: FaultChoice;
  readonly trace?: TraceWriter | undefined;
  /** How strictly thinking is bound to its prefix on models that bind it. */
  readonly binding?: BindingMode;
}

type OptionName = keyof SimulatorOptions;

/** What each option must be, for error messages to callers without a compiler. */
const requirementByOption: Readonly<Record<OptionName, readonly [isRight: (value: unknown) => boolean, what: string]>> =
  {
    responder: [
      hasMethod("respond"),
      "a responder: an object with respond(input), such as extractResponder or scriptResponder(scenario)",
    ],
    seed: [Number.isSafeInteger, "a whole number"],
    clock: [hasMethod("now"), "a clock: virtualClock() or realClock()"],
    models: [Array.isArray, "a list of models"],
    faults: [hasMethod("choose"), "a FaultChoice"],
    trace: [hasMethod("request"), "a TraceWriter"],
    binding: [(value) => value === "enforced" || value === "reported", "enforced or reported"],
    ...extension.optionWants,
  };

/** Throws if an option does not exist or could only fail later. */
export function checkOptions(options: SimulatorOptions): void {
  for (const [name, value] of Object.entries(options)) {
    if (!isOption(name)) throw new TypeError(`the simulator has no option ${name}; ${adviceFor(name)}`);
    const [isRight, what] = requirementByOption[name];
    if (value !== undefined && !isRight(value))
      throw new TypeError(`the simulator's option ${name} must be ${what}, not ${typeof value}`);
  }
}

const isOption = (name: string): name is OptionName => Object.hasOwn(requirementByOption, name);

const adviceFor = (name: string): string =>
  name === "scenario"
    ? "read it with readScenario(file) and give `responder: scriptResponder(reading.scenario)`"
    : `options: ${Object.keys(requirementByOption).join(", ")}`;

function hasMethod(method: string): (value: unknown) => boolean {
  return (value) => typeof value === "object" && value !== null && typeof Reflect.get(value, method) === "function";
}
