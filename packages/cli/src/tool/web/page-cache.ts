import type { Millis } from "palimpsest/internal/schema/brand";
import { pageKeptMs, pagesCharsMax, pagesMax } from "./limits.ts";

export interface Page {
  /** The address after redirects. */
  readonly url: string;
  readonly title: string | undefined;
  readonly text: string;
}

interface CachedPage {
  readonly page: Page;
  readonly at: Millis;
}

/** Pages by requested address, kept for a while. One cache per session, in memory. */
export class PageCache {
  readonly #keptByUrl = new Map<string, CachedPage>();
  #chars = 0;

  get(url: string, now: Millis): Page | undefined {
    const kept = this.#keptByUrl.get(url);
    if (kept === undefined) return undefined;
    const age = now - kept.at;
    if (age >= 0 && age < pageKeptMs) return kept.page;
    this.#drop(url, kept);
    return undefined;
  }

  put(url: string, kept: CachedPage): void {
    const before = this.#keptByUrl.get(url);
    if (before !== undefined) this.#drop(url, before);
    this.#keptByUrl.set(url, kept);
    this.#chars += kept.page.text.length;
    for (const [oldest, one] of this.#keptByUrl) {
      if (this.#keptByUrl.size <= pagesMax && this.#chars <= pagesCharsMax) return;
      this.#drop(oldest, one);
    }
  }

  #drop(url: string, { page }: CachedPage): void {
    this.#keptByUrl.delete(url);
    this.#chars -= page.text.length;
  }
}
