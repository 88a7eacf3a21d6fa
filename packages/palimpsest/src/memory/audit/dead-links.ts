import type { MemoryText } from "../../ports/memories.ts";

interface DeadLink {
  /** Whose change makes the link lead nowhere. */
  readonly path: string;
  readonly link: string;
}

/**
 * Links between memories that a change kills: to a file that it deletes, or that it writes to a file that is not there. What
 * led nowhere before is not the change's fault.
 */
export function findDeadLinks(
  after: ReadonlyMap<string, string>,
  baseByPath: ReadonlyMap<string, MemoryText>,
): readonly DeadLink[] {
  return [...after].flatMap(([path, text]) => {
    const known = new Set(findLinks(baseByPath.get(path)?.text ?? ""));
    return findLinks(text).flatMap((link): readonly DeadLink[] => {
      if (after.has(link) || baseByPath.get(link)?.role === "log") return [];
      if (known.has(link)) return baseByPath.has(link) ? [{ path: link, link: `${path} → ${link}` }] : [];
      return [{ path, link: `${path} → ${link}` }];
    });
  });
}

/** Paths of memories that a text links to: `[Deploy](deploy.md)`, `[[deploy.md]]`. Addresses and files elsewhere are not. */
function findLinks(text: string): readonly string[] {
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)|\[\[([^\]|]+)(?:\|[^\]]*)?\]\]/g)].map(
    ([, target, name]) => target ?? name ?? "",
  );
  const paths = targets
    .map((target) => target.trim().replace(/^\.\//, "").replace(/#.*$/, ""))
    .filter((target) => /^[^:/][^:]*\.md$/i.test(target) && !target.startsWith(".."))
    .map(decodePath);
  return [...new Set(paths)];
}

/** What a text says without where its links to memories lead: a link may follow a file that moved. */
export const stripLinks = (text: string): string => text.replaceAll(/\]\((?![a-z]+:)[^)]*\)/gi, "]");

function decodePath(target: string): string {
  try {
    return decodeURIComponent(target).normalize("NFC");
  } catch {
    return target;
  }
}
