/**
 * The type of the attachments by which the model is reminded of what happened beside the conversation: another day, files
 * that changed, a task list that was left alone. Their text is frozen in the log.
 */
export const reminderAttachment = "turn_reminder";
