const empty: ReadonlySet<string> = new Set(["meta", "br", "img", "!doctype"]);

/** Says whether every tag of an HTML text is closed in order, or where it is not. Enough for pages that escape every sign. */
export function balanced(html: string): string {
  const open: string[] = [];
  const body = html.replace(/<style>[^<]*<\/style>/, "<style></style>");
  for (const { 1: closing, 2: name = "", index } of body.matchAll(/<(\/?)([!a-zA-Z][a-zA-Z0-9]*)(?:\s[^<>]*)?>/g)) {
    const tag = name.toLowerCase();
    if (empty.has(tag)) continue;
    if (closing === "") open.push(tag);
    else if (open.pop() !== tag)
      return `</${tag}> closes nothing at ${index}: ${body.slice(Math.max(0, index - 40), index + 20)}`;
  }
  const signs = (body.match(/</g) ?? []).length;
  const tags = (body.match(/<\/?[!a-zA-Z][a-zA-Z0-9]*(?:\s[^<>]*)?>/g) ?? []).length;
  if (signs !== tags) return `${signs - tags} signs < begin no tag`;
  return open.length === 0 ? "balanced" : `left open: ${open.join(", ")}`;
}
