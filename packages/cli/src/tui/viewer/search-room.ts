import { searchRows } from "./limits.ts";

/** Rows that are kept free for pi-tui's search box, which lies over what is there. */
export const searchRoom = (isSearching: () => boolean) => ({
  render: (): string[] => (isSearching() ? Array.from({ length: searchRows }, () => "") : []),
  invalidate: (): void => {},
});
