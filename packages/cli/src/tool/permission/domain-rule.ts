export interface DomainPattern {
  /** As an address has it: lower case, other scripts in their ASCII form, no dot at its end. */
  readonly host: string;
  /** `*.example.org`: hosts below it, not itself. */
  readonly reach: "itself" | "below";
}

/** Of `domain:example.org` or `domain:*.example.org`; undefined where it is neither. */
export function domainPattern(written: string): DomainPattern | undefined {
  const [, below, name = ""] = /^domain:\s*(\*\.)?([^\s*/?#@\\]+)$/.exec(written) ?? [];
  const host = hostOf(`http://${name}`);
  return name === "" || host === undefined ? undefined : { host, reach: below === undefined ? "itself" : "below" };
}

/** In its one spelling; undefined where it is no address. */
export function hostOf(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const host = new URL(url).hostname.replace(/\.$/, "");
  return host === "" ? undefined : host;
}

/** A leave is for what it names; a ban and a question are for everything below it, too. */
export function isOfDomain(
  host: string,
  { domain, use }: { readonly domain: DomainPattern; readonly use: "allow" | "ask" | "deny" },
): boolean {
  const isBelow = host.endsWith(`.${domain.host}`);
  return domain.reach === "below" ? isBelow : host === domain.host || (use !== "allow" && isBelow);
}
