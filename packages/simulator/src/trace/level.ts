import type { Level } from "palimpsest/internal/cache/prompt";

/** In the order of the prompt: a change at one breaks all behind it. */
export const levels: readonly Level[] = ["tools", "system", "messages"];

/** As the path says it. For the cache a block may stand at another: web tools stand with the system prompt. */
export function levelOf(path: string): Level | undefined {
  const [first] = path.split(".");
  return levels.find((level) => level === first);
}
