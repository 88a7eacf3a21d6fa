import type { Store } from "palimpsest/internal/ports/store";

/**
 * The store, whose results and transcripts have a path only while `isShown` says so. Else what replaces a result names the id
 * alone, by which `recall` returns it. A path that was named once stays: edits are frozen.
 */
export const hidePathsUnless = (store: Store, isShown: () => boolean): Store => ({
  open: async () => {
    const opened = await store.open();
    if (opened.kind === "failed") return opened;
    const { blobs, transcripts } = opened;
    return {
      ...opened,
      ...(blobs.link === undefined
        ? {}
        : { blobs: { ...blobs, link: async (link) => (isShown() ? await blobs.link?.(link) : undefined) } }),
      ...(transcripts.linkTo === undefined
        ? {}
        : { transcripts: { ...transcripts, linkTo: (id) => (isShown() ? transcripts.linkTo?.(id) : undefined) } }),
    };
  },
});
