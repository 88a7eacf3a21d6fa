import { field, isObject, type JsonObject } from "palimpsest/internal/schema/json";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/request";
import { type OfferedTool, offeredTools } from "./request-text.ts";

/** Tools that change files go by many names, and so do their fields: the schema says which. */
export const editTool = (request: MessagesRequest): OfferedTool | undefined =>
  offeredTools(request).find(({ name }) => /edit|str_replace/i.test(name) && !/notebook|todo/i.test(name));

export const writeTool = (request: MessagesRequest): OfferedTool | undefined =>
  offeredTools(request).find(({ name }) => /write|create/i.test(name) && !/todo|task/i.test(name));

export interface Replacement {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

export const editInput = ({ schema }: OfferedTool, { path, before, after }: Replacement): JsonObject => ({
  [nameIn(schema, ["file_path", "path", "filePath", "file"])]: path,
  [nameIn(schema, ["old_string", "old_str", "oldText", "oldString", "old"])]: before,
  [nameIn(schema, ["new_string", "new_str", "newText", "newString", "new"])]: after,
});

export const writeInput = (
  { schema }: OfferedTool,
  { path, content }: { path: string; content: string },
): JsonObject => ({
  [nameIn(schema, ["file_path", "path", "filePath", "file"])]: path,
  [nameIn(schema, ["content", "file_text", "contents", "text"])]: content,
});

/** The first of the usual names where the schema has none of them. */
function nameIn(schema: JsonObject, names: readonly [string, ...string[]]): string {
  const properties = field(schema, "properties");
  return names.find((name) => isObject(properties) && Object.hasOwn(properties, name)) ?? names[0];
}
