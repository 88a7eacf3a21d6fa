import type { SystemOption, ToolOption } from "../../context/inputs.ts";
import { field, isArray, isObject, type Json, textField } from "../../schema/json.ts";

/** A system prompt that is a text or a list of text blocks. */
export function readSystem(system: Json | undefined): SystemOption {
  if (typeof system === "string") return system;
  return (isArray(system) ? system : []).filter(isObject).map((part) => textField(part, "text") ?? "");
}

/** Tools in the format of the Messages API, without cache marks. */
export function readTools(tools: readonly Json[]): readonly ToolOption[] {
  return tools.filter(isObject).map(({ cache_control: _mark, ...tool }): ToolOption => {
    const name = textField(tool, "name") ?? "";
    const schema = field(tool, "input_schema");
    const type = textField(tool, "type");
    if (isObject(schema)) return { ...tool, name, input_schema: schema };
    return { ...tool, name, type: type ?? "" };
  });
}
