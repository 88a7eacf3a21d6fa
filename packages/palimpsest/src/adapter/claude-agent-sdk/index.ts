export { type AgentSessions, agentSessions, type AgentSessionsOptions } from "./agent-sessions.ts";
