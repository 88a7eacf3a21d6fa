/** The type of the attachments by which the model is told how full its context is. Their text is frozen in the log. */
export const pressureAttachment = "context_pressure";
