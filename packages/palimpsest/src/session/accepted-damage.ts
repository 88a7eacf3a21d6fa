import { z } from "zod";
import type { Entry } from "../schema/entry.ts";
import type { Json } from "../schema/json.ts";
import type { Draft } from "../transcript/draft.ts";
import type { Finding } from "./finding.ts";
import { acceptedPerEntryMax } from "./limits.ts";

/**
 * What a repair can't mend by blanking: entries that are whole and contradict each other, and lines too long to read.
 * They stay as they are, since nothing may be lost; an appended setting names them and says how they are read. Byte
 * ranges identify them: a log only grows, and a blanked range keeps its length.
 */
const settingName = "fsck.accepted";
const acceptedShape = z.array(z.object({ kind: z.string(), start: z.number(), end: z.number() }));

/** As the reader has always read them. */
const readAs: { readonly [Kind in Finding["kind"]]?: string } = {
  "duplicate-uuid": "the first entry with this uuid counts, this one is passed over",
  "parent-cycle": "the chain of parents ends here and goes on at the entry before it in the log",
  "malformed-edit": "it changes nothing",
  "too-long": "it is passed over",
};

export interface AcceptedFinding extends Finding {
  /** When it was accepted, as the log has it. */
  readonly at: string;
}

/** One entry each for so many findings: a line has a limit. */
export function acceptanceDrafts(findings: readonly Finding[]): readonly Draft[] {
  const drafts: Draft[] = [];
  for (let at = 0; at < findings.length; at += acceptedPerEntryMax) {
    const value = findings.slice(at, at + acceptedPerEntryMax).map(({ kind, start, end, uuid }): Json => ({
      kind,
      start,
      end,
      read: readAs[kind] ?? "as it stands",
      ...(uuid === undefined ? {} : { uuid }),
    }));
    drafts.push({ type: "setting", name: settingName, value });
  }
  return drafts;
}

/** What the entries of a log have accepted; asked when all of them were seen. */
export class Acceptances {
  readonly #atByPlace = new Map<string, string>();

  take(entry: Entry): void {
    if (entry.kind !== "edit" || entry.edit.type !== "setting" || entry.edit.name !== settingName) return;
    for (const one of acceptedShape.safeParse(entry.edit.value).data ?? [])
      this.#atByPlace.set(placeOf(one), entry.timestamp ?? "");
  }

  split(findings: readonly Finding[]): {
    readonly damage: readonly Finding[];
    readonly accepted: readonly AcceptedFinding[];
  } {
    const damage: Finding[] = [];
    const accepted: AcceptedFinding[] = [];
    for (const finding of findings) {
      const at = this.#atByPlace.get(placeOf(finding));
      if (at === undefined) damage.push(finding);
      else accepted.push({ ...finding, at });
    }
    return { damage, accepted };
  }
}

const placeOf = ({ kind, start, end }: { kind: string; start: number; end: number }): string =>
  `${kind} ${start}-${end}`;
