import { z } from "zod";
import { baselineFixedPart, type FrozenParts } from "../cache/baseline.ts";
import type { BlobsDep } from "../ports/blobs.ts";
import { isBlobId } from "../schema/brand.ts";
import { anyJson } from "../schema/any-json.ts";
import { parseJson } from "../schema/json.ts";
import type { FixedPart } from "../tokens/fixed-part.ts";
import type { Draft } from "../transcript/draft.ts";
import type { Fold } from "../transcript/fold.ts";

/** Kept as a setting of the session, so that it survives boundaries like the other settings. */
const stateName = "request.baseline";

export const frozenStateDraft = (value: FrozenState): Draft => ({ type: "setting", name: stateName, value });

const blobIdShape = z.string().refine((text) => isBlobId(text));

const stateShape = z.object({
  /** The model of the newest request. */
  last: z.string(),
  /** By model: what its requests carry, and what was announced to it since. */
  byModel: z.record(z.string(), z.object({ sent: blobIdShape, told: blobIdShape })),
});

export type FrozenState = z.infer<typeof stateShape>;

export function readFrozenState({ projection }: Fold): FrozenState | undefined {
  const read = stateShape.safeParse(projection.settings.get(stateName));
  return read.success ? read.data : undefined;
}

export async function readFrozenParts({ blobs }: BlobsDep, id: string | undefined): Promise<FrozenParts | undefined> {
  const bytes = id !== undefined && isBlobId(id) ? await blobs.get(id) : undefined;
  if (bytes === undefined) return undefined;
  const read = frozenShape.safeParse(parseJson(new TextDecoder().decode(bytes)));
  return read.success ? read.data : undefined;
}

const jsonObjectShape = z.record(z.string(), anyJson);

const frozenShape = z.object({
  model: z.string(),
  thinking: jsonObjectShape.optional(),
  betas: z.array(z.string()),
  tools: z.array(z.object({ name: z.string() }).and(jsonObjectShape)),
  system: z.array(z.object({ name: z.string(), text: z.string() })),
});

/** What requests to the last model carry besides messages; undefined if none of our agents has sent a request. */
export async function readFrozenFixedPart(deps: BlobsDep, fold: Fold): Promise<FixedPart | undefined> {
  const state = readFrozenState(fold);
  const parts = state && (await readFrozenParts(deps, state.byModel[state.last]?.sent));
  return parts === undefined ? undefined : baselineFixedPart(parts);
}
