import type { EntryId } from "../../../schema/brand.ts";
import type { ViewEdit } from "../../layer.ts";

/** Entries leave the view, and nothing stands in their place. */
export const snipEdit = (entries: readonly EntryId[], because: string): ViewEdit => ({
  draft: { type: "snip", entries, because },
  what: "snip",
  count: entries.length,
  nature: "reduced",
});
