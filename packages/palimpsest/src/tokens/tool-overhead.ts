/** What a provider adds to a prompt for having tools at all, by whether one of them is forced. */
export interface ToolOverhead {
  readonly auto: number;
  readonly forced: number;
}

/** By the beginning of a model's id; a longer one stands before a shorter one that begins it. As published in November 2026. */
const overheads: readonly (readonly [string, ToolOverhead])[] = [
  ["claude-opus-5", { auto: 286, forced: 406 }],
  ["claude-opus-4-8", { auto: 290, forced: 410 }],
  ["claude-opus-4-7", { auto: 675, forced: 804 }],
  ["claude-opus-4-6", { auto: 497, forced: 589 }],
  ["claude-sonnet-4-6", { auto: 497, forced: 589 }],
  ["claude-sonnet-5", { auto: 354, forced: 474 }],
  ["claude-haiku-4-5", { auto: 496, forced: 588 }],
];

/** Of a model of this provider for which nothing is published. */
const usual: ToolOverhead = { auto: 346, forced: 313 };

export const toolOverhead = (modelId: string): ToolOverhead =>
  overheads.find(([id]) => modelId.startsWith(id))?.[1] ?? usual;
