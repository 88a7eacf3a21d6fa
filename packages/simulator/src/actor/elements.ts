/** `<name …>inside</name>` in a text. */
export interface Element {
  /** Where its opening tag begins and its closing tag ends. */
  readonly start: number;
  readonly end: number;
  readonly inside: string;
}

/**
 * The elements with such names (in small letters), first to last; one inside another is no element of its own, and one
 * that is never closed is none. Takes time in proportion to the text, whatever is in it.
 */
export function elementsIn(text: string, isWanted: (name: string) => boolean): readonly Element[] {
  const tags = tagsIn(text).filter(({ name }) => isWanted(name));
  const closingByName = new Map<string, Tag>();
  const found: Element[] = [];
  for (const tag of tags.toReversed()) {
    const closing = closingByName.get(tag.name);
    if (tag.kind === "closing") closingByName.set(tag.name, tag);
    else if (closing !== undefined)
      found.push({ start: tag.start, end: closing.end, inside: text.slice(tag.end, closing.start) });
  }
  const outermost: Element[] = [];
  for (const element of found.toReversed()) if (element.start >= (outermost.at(-1)?.end ?? 0)) outermost.push(element);
  return outermost;
}

interface Tag {
  readonly kind: "opening" | "closing";
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

const tagsIn = (text: string): readonly Tag[] =>
  [...text.matchAll(/<[^<>]*>/g)].flatMap(({ 0: whole, index }) => {
    const [, slash, name] = /^<(\/?)([\w-]+)/.exec(whole) ?? [];
    if (name === undefined) return [];
    const kind = slash === "/" ? "closing" : "opening";
    return [{ kind, name: name.toLowerCase(), start: index, end: index + whole.length }];
  });
