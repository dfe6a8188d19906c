/** The rows of the error table that belong to MCP servers. */
export const errors = {
  cave_mcp_server_invalid: {
    meaning: "An MCP server is not configured well.",
    remedy: "Give it either a command or a url, and correct the named field.",
  },
  cave_mcp_env_missing: {
    meaning: "An environment variable that an MCP server's configuration names is not set.",
    remedy: "Set the variable, or take the entry out of the configuration.",
  },
  cave_mcp_server_unavailable: {
    meaning: "An MCP server could not be started, reached or understood.",
    remedy: "Run its command by hand to see why; mark the server optional to go on without it.",
  },
  cave_mcp_server_lost: {
    meaning: "The MCP server went away; whether the call took effect is not known.",
    remedy: "Look at the outside world before calling again, or answer with what is known.",
  },
  cave_mcp_tool_failed: {
    meaning: "The MCP server answered with an error.",
    remedy: "Read what it says; correct the arguments or use another tool.",
  },
  cave_mcp_definition_changed: {
    meaning: "A tool of an MCP server is not the one that was accepted.",
    remedy: "A person reviews it with `caveman mcp list` and accepts it with `caveman mcp accept`.",
  },
  cave_mcp_definition_invalid: {
    meaning: "A tool of an MCP server has a definition that is not shown to a model.",
    remedy: "Correct the server, or leave the tool out with the server's `tools` list.",
  },
  cave_mcp_list_changed: {
    meaning: "An MCP server changed its tools while a run used them.",
    remedy: "Start another run to use the new ones, once they are accepted.",
  },
  cave_mcp_request_refused: {
    meaning: "An MCP server asked its client for something.",
    remedy: "Nothing: servers get no sampling, no folders and no questions to a person through this client.",
  },
  cave_mcp_lock_invalid: {
    meaning: "The file of accepted MCP tools cannot be read.",
    remedy: "Restore it from version control; without it every definition would count as new.",
  },
  cave_mcp_lock_unwritable: {
    meaning: "The file of accepted MCP tools cannot be written.",
    remedy: "Make its folder writable, or commit a file that holds the tools of every server.",
  },
  cave_mcp_nothing_pending: {
    meaning: "No refused tool definition has this name.",
    remedy: "See `caveman mcp list` for what waits to be accepted.",
  },
  cave_tool_search_query_required: {
    meaning: "The tool search was given no words.",
    remedy: "Say in a few words what the tool should do.",
  },
  cave_tool_search_result_limit: {
    meaning: "A tool's input schema is too large to be shown in a search result.",
    remedy:
      "Call the tool with the arguments its description names; a wrong argument is answered with what was expected.",
  },
} as const;
