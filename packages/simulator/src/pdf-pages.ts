/**
 * Pages of a PDF, roughly: page objects that stand in the clear, or else what a page tree says it holds. Where both are
 * packed away in compressed objects it is one page.
 */
export function countPdfPages(base64: string): number {
  const source = Buffer.from(base64, "base64").toString("latin1");
  const objects = source.match(/\/Type\s*\/Page(?![A-Za-z])/g) ?? [];
  if (objects.length > 0) return objects.length;
  let pages = 1;
  for (const [, count] of source.matchAll(/\/Count\s+(\d{1,5})\b/g)) pages = Math.max(pages, Number(count));
  return pages;
}
