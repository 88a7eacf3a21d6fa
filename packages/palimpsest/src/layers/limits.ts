/** Requests over which a reason counts what an edit saves: an hour's work, and few enough to believe in. */
export const reasonRequests = 20;
