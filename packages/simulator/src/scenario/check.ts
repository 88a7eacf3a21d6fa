import { type Compiled, compileScenario } from "./compile.ts";
import { type Flaw, flawsOf, type Place } from "./problem.ts";
import { scenarioForm } from "./schema.ts";

/**
 * A scenario, or everything that is wrong with it at once: where the form is wrong somewhere, what goes together is still
 * checked in the rest.
 */
export function checkScenario(value: unknown): Compiled {
  const read = scenarioForm.safeParse(value, { reportInput: true });
  if (read.success) return compileScenario(read.data);
  const flaws = flawsOf(read.error.issues);
  return { kind: "flawed", flaws: [...flaws, ...flawsOfRest(value, flaws)] };
}

/** Taking something out may leave another thing wanting, but not for ever. */
const roundsMax = 4;

function flawsOfRest(value: unknown, known: readonly Flaw[]): readonly Flaw[] {
  let rest = value;
  let wrong = known;
  for (let round = 0; round < roundsMax; round += 1) {
    rest = wrong.reduce((left, { at }) => mended(left, at), rest);
    const read = scenarioForm.safeParse(rest);
    if (!read.success) {
      wrong = flawsOf(read.error.issues);
      continue;
    }
    const compiled = compileScenario(read.data);
    // What contains a wrong place may lack only what was taken out there.
    return compiled.kind === "flawed" ? compiled.flaws.filter(({ at }) => !known.some((one) => isIn(one.at, at))) : [];
  }
  return [];
}

const isIn = (place: Place, outer: Place): boolean => outer.every((step, at) => place[at] === step);

/** The value without the field that is wrong; a name that is wrong or missing gives way to one that is right. */
function mended(value: unknown, at: Place): unknown {
  if (at.at(-1) === "name") return changed(value, { at, to: "unnamed" });
  const end = at.findLastIndex((step, index) => typeof step === "string" && isThere(value, at.slice(0, index + 1)));
  return end === -1 ? value : changed(value, { at: at.slice(0, end + 1), to: undefined });
}

const isThere = (value: unknown, at: Place): boolean => valueAt(value, at) !== undefined;

function valueAt(value: unknown, [step, ...rest]: Place): unknown {
  if (step === undefined) return value;
  return typeof value === "object" && value !== null ? valueAt(Reflect.get(value, step), rest) : undefined;
}

interface Change {
  readonly at: Place;
  /** Undefined takes the field out. */
  readonly to: unknown;
}

function changed(value: unknown, { at: [step, ...rest], to }: Change): unknown {
  if (step === undefined) return to;
  if (Array.isArray(value))
    return value.map((item: unknown, index) => (index === step ? changed(item, { at: rest, to }) : item));
  if (typeof value !== "object" || value === null) return value;
  const fields = { ...value, [step]: changed(Reflect.get(value, step), { at: rest, to }) };
  return Object.fromEntries(Object.entries(fields).filter(([, field]) => field !== undefined));
}
