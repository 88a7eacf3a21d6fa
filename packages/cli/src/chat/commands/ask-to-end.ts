import type { ChatCommandContext } from "../chat-command.ts";

/** Whether the user wants to end what runs in the background. `description`: what follows from it. */
export async function askToEnd(
  { ui, signal }: ChatCommandContext,
  { title, description }: { readonly title: string; readonly description: string },
): Promise<boolean> {
  const choices = [
    { value: "leave", label: "Let it run" },
    { value: "end", label: "End it", description },
  ];
  const answer = await ui.choose({ title, choices, search: "none" }, signal);
  return answer === "end" && !signal.aborted;
}
