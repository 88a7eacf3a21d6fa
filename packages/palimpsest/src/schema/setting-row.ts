import { z } from "zod";

/** Where a default comes from: published descriptions of the systems we follow, other knowledge of them, or us. */
export type Basis = "published" | "elsewhere" | "ours";

/**
 * What a project's files may do to a setting. They may have come with a clone, so until the user trusts the project they
 * must not permit more. `nothing`: they apply once the project is trusted. `anything`: they always apply, since they can
 * only forbid, or need the user's approval anyway. `yours`: they never apply, trusted or not. `narrows`: these values
 * always apply, others once the project is trusted.
 */
export type ProjectUse =
  | "nothing"
  | "anything"
  | "yours"
  | { readonly narrows: (value: unknown) => boolean; readonly says: string };

export interface SettingRow<Value = unknown> {
  /** Schema of the value in settings.json; for a list, of one item. */
  readonly shape: z.ZodType;
  /** Ends the sentence "expected …". */
  readonly expects: string;
  readonly type: "text" | "number" | "switch" | "list";
  /**
   * How lists of several scopes combine. `by-id`: of items with the same id the strongest scope's wins. `all`: every
   * scope's items, the weakest scope first.
   */
  readonly addsUp?: "by-id" | "all";
  readonly default: Value;
  /** What help shows for a default that depends on something else. */
  readonly defaultSays?: string;
  /** Environment variables that set it, strongest first. */
  readonly environment: readonly string[];
  /** Environment variables that turn it off when they are true; they override `environment`. */
  readonly offBy?: readonly string[];
  /** `--<flag> <value>`; switches have `--on <name>` and `--off <name>` instead. */
  readonly flag?: string;
  /** What help shows for the flag's value. Absent: the last word of the flag. */
  readonly flagShown?: string;
  /** A flag without a value, and the value that it sets. */
  readonly loneFlag?: { readonly flag: string; readonly value: string; readonly about: string };
  /** How a number out of range is reported. Absent: as an error, like every other wrong value. */
  readonly whenOutOfRange?: "warning";
  readonly byProject: ProjectUse;
  readonly about: string;
  readonly basis: Basis;
  readonly state?: RowState;
}

/** `planned`: the feature does not exist yet, so nothing reads the setting. */
export type RowState = "planned";

/** The length of a preview: offloading a shorter result would gain nothing. */
export const resultCharsMin = 2_000;
/** Upper limit for every tool: twice this would fill most windows. */
export const resultCharsHard = 400_000;

/** How long one tool's results may be before they are offloaded. */
export const toolLimitShape = z.strictObject({
  /** The tool's name, as the model calls it. */
  id: z.string().min(1),
  resultCharsMax: z.int().min(resultCharsMin).max(resultCharsHard),
});

export type ToolLimit = z.infer<typeof toolLimitShape>;

/** Model families with different prompts; `other` is for unknown models. */
export const promptFamilies = ["claude", "gpt", "gemini", "other"] as const;
export type PromptFamily = (typeof promptFamilies)[number];

/** Which system prompt a model gets: that of a family, or the user's own text. */
export const promptChoiceShape = z
  .strictObject({
    /** Prefix of the model's id; the longest match wins. */
    id: z.string().min(1),
    family: z.enum(promptFamilies).optional(),
    text: z.string().min(1).optional(),
  })
  .refine(({ family, text }) => (family === undefined) !== (text === undefined), "either a family or a text");
export type PromptChoice = z.infer<typeof promptChoiceShape>;

const ruleShape = z.string().min(1);
const rulesExpects = "a list of rules, like Bash(npm test:*), Edit(src/**) or Grep";
/** A setting that lists permission rules. */
export const ruleList = ({
  about,
  byProject,
}: Pick<SettingRow, "about" | "byProject">): SettingRow<readonly string[]> => ({
  shape: ruleShape,
  expects: rulesExpects,
  type: "list",
  addsUp: "all",
  default: [],
  defaultSays: "none",
  environment: [],
  byProject,
  about,
  basis: "published",
});

/** A list that only the user's own file may have. */
export const ownList = (row: Pick<SettingRow, "shape" | "expects" | "about">): SettingRow<readonly string[]> => ({
  ...row,
  type: "list",
  addsUp: "all",
  default: [],
  defaultSays: "none",
  environment: [],
  byProject: "yours",
  basis: "ours",
});

/** A switch that stands above others. */
export const masterSwitchRow = (
  row: Pick<SettingRow<boolean>, "environment" | "offBy" | "about" | "byProject" | "state">,
): SettingRow<boolean> => ({
  ...row,
  shape: z.boolean(),
  expects: "true or false",
  type: "switch",
  default: true,
  basis: "published",
});
