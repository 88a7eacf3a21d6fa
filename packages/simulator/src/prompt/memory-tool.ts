/** The provider's memory tool: the API knows its definition by its type, and the client runs it. */
export const memoryTool = { type: "memory_20250818", name: "memory" } as const;

/**
 * What the model reads if the tool is declared: its definition, and an instruction that the API adds. Both are in our
 * own words; they are never sent anywhere, but they take room in the prompt as the provider's do.
 */
export const memoryToolText = `memory: files that outlive this conversation, in the folder /memories.
Commands, one a call:
view {path, view_range?}: a folder with its files and their sizes, two levels deep, or a file with numbered lines; a long text is cut after 16,000 characters, and an image is shown. view_range is [first, last], and a last line of -1 means the end.
create {path, file_text}: a new file with this text.
str_replace {path, old_str, new_str}: puts new_str where old_str stands; it has to stand there exactly once, spaces included.
insert {path, insert_line, insert_text}: puts the text behind that line; line 0 is the beginning of the file.
delete {path}: a file, or a folder with everything in it.
rename {old_path, new_path}: moves a file or a folder; nothing may stand at the new place yet.
{"type":"object","properties":{"command":{"type":"string","enum":["view","create","str_replace","insert","delete","rename"]},"path":{"type":"string"},"view_range":{"type":"array","items":{"type":"integer"}},"file_text":{"type":"string"},"old_str":{"type":"string"},"new_str":{"type":"string"},"insert_line":{"type":"integer"},"insert_text":{"type":"string"},"old_path":{"type":"string"},"new_path":{"type":"string"}},"required":["command"]}
Look into the memory folder before anything else: earlier work may have left its state there. Write down progress, decisions and findings as you go. The conversation may end at any moment, and what stands only in it is lost then. Keep the files short, current and in order: change what is no longer true, and delete what nobody needs.`;
