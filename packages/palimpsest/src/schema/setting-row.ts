import { z } from "zod";

/** Where a number comes from: the published descriptions of the systems we follow, what else is known of them, or us. */
export type Basis = "published" | "elsewhere" | "ours";

/**
 * What the files of a project may do to a setting. They may have come with a clone, so until the user trusts the project
 * they must not widen anything. `nothing`: they count once the project is trusted. `anything`: they count in any case, since
 * they can only forbid, or wait for the user's word anyway. `yours`: they never count, trusted or not. `narrows`: these
 * values count in any case, others once it is trusted.
 */
export type ProjectUse =
  | "nothing"
  | "anything"
  | "yours"
  | { readonly narrows: (value: unknown) => boolean; readonly says: string };

export interface SettingRow<Value = unknown> {
  /** Of the value in settings.json; of one item where the setting is a list. */
  readonly shape: z.ZodType;
  /** Ends the sentence "expected …". */
  readonly expects: string;
  readonly type: "text" | "number" | "switch" | "list";
  /** Of a list: of two with one id the stronger scope's counts, or every scope's items count, the weakest first. */
  readonly addsUp?: "by-id" | "all";
  readonly default: Value;
  /** What stands for a default that depends on something else. */
  readonly defaultSays?: string;
  /** Names that give it a value, strongest first. */
  readonly environment: readonly string[];
  /** Names that turn it off when they are true; they win over `environment`. */
  readonly offBy?: readonly string[];
  /** `--<flag> <value>`; switches have `--on <name>` and `--off <name>` instead. */
  readonly flag?: string;
  /** What help shows for the flag's value; the flag's last word where it is absent. */
  readonly flagShown?: string;
  /** A flag that stands alone, and the value that it gives. */
  readonly loneFlag?: { readonly flag: string; readonly value: string; readonly about: string };
  /** What a number out of its range is; an error unless it says otherwise. Anything else that is wrong is an error. */
  readonly whenOutOfRange?: "warning";
  readonly byProject: ProjectUse;
  readonly about: string;
  readonly basis: Basis;
  readonly state?: RowState;
}

/** `planned`: what it is about is not there yet, so nothing reads it. */
export type RowState = "planned";

/** What a preview holds: a shorter result would gain nothing by being offloaded. */
export const resultCharsMin = 2_000;
/** Whatever a tool says of itself: twice this would fill most windows. */
export const resultCharsHard = 400_000;

/** How long one tool's results may be before they are offloaded. */
export const toolLimitShape = z.strictObject({
  /** The tool's name, as the model calls it. */
  id: z.string().min(1),
  resultCharsMax: z.int().min(resultCharsMin).max(resultCharsHard),
});

export type ToolLimit = z.infer<typeof toolLimitShape>;

/** Kinds of models that are addressed differently; `other` is for those we do not know. */
export const promptFamilies = ["claude", "gpt", "gemini", "other"] as const;
export type PromptFamily = (typeof promptFamilies)[number];

/** Which system prompt a model gets: that of a family, or a text of the user's own. */
export const promptChoiceShape = z
  .strictObject({
    /** Beginning of the model's id; the longest that fits counts. */
    id: z.string().min(1),
    family: z.enum(promptFamilies).optional(),
    text: z.string().min(1).optional(),
  })
  .refine(({ family, text }) => (family === undefined) !== (text === undefined), "either a family or a text");
export type PromptChoice = z.infer<typeof promptChoiceShape>;
