import type { SaidBlock, Take } from "./actor.ts";

const example = '{ move: { kind: "say", blocks: [{ type: "text", text: "Hello" }] } }';

/** Actors are other people's code: throws on a take that no reply can be made of, and says what is wrong with it. */
export function checkTake(take: unknown): asserts take is Take {
  const move = fieldOf(take, "move");
  if (move === undefined) throw new TypeError(`play gave no take, which is ${example}`);
  const kind = fieldOf(move, "kind");
  if (kind === "refuse" && fieldOf(move, "refusal") !== undefined) return;
  if (kind === "refuse") throw new TypeError("a move that refuses needs a `refusal`");
  if (kind !== "say") throw new TypeError(`a move's kind is say or refuse, not ${String(kind)}`);
  const blocks = fieldOf(move, "blocks");
  if (!Array.isArray(blocks)) throw new TypeError(`a move that says something needs a list of blocks: ${example}`);
  for (const [at, block] of blocks.entries()) checkBlock(block, at);
}

const textByType: Readonly<Record<SaidBlock["type"], string>> = {
  text: "text",
  thinking: "thinking",
  redacted_thinking: "thinking",
  tool_use: "name",
};

function checkBlock(block: unknown, at: number): void {
  const type = fieldOf(block, "type");
  if (typeof type !== "string" || !isBlockType(type))
    throw new TypeError(`blocks[${at}].type is one of ${Object.keys(textByType).join(", ")}, not ${String(type)}`);
  const name = textByType[type];
  if (typeof fieldOf(block, name) !== "string") throw new TypeError(`blocks[${at}].${name} must be a text`);
  const input = type === "tool_use" ? fieldOf(block, "input") : {};
  if (typeof input !== "object" || input === null) throw new TypeError(`blocks[${at}].input must be an object`);
}

const isBlockType = (type: string): type is SaidBlock["type"] => Object.hasOwn(textByType, type);

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
