package otel

import "go.opentelemetry.io/otel/attribute"

// Names of the OpenTelemetry conventions, those for generative AI first. Of usage,
// cached tokens are part of the input and reasoning is part of the output.
const (
	operationName      attribute.Key = "gen_ai.operation.name"
	providerName       attribute.Key = "gen_ai.provider.name"
	conversationID     attribute.Key = "gen_ai.conversation.id"
	agentName          attribute.Key = "gen_ai.agent.name"
	requestModel       attribute.Key = "gen_ai.request.model"
	responseModel      attribute.Key = "gen_ai.response.model"
	finishReasons      attribute.Key = "gen_ai.response.finish_reasons"
	timeToFirstChunk   attribute.Key = "gen_ai.response.time_to_first_chunk" // in seconds
	inputTokens        attribute.Key = "gen_ai.usage.input_tokens"
	cachedInputTokens  attribute.Key = "gen_ai.usage.cache_read.input_tokens"
	outputTokens       attribute.Key = "gen_ai.usage.output_tokens"
	reasoningTokens    attribute.Key = "gen_ai.usage.reasoning.output_tokens"
	toolName           attribute.Key = "gen_ai.tool.name"
	toolType           attribute.Key = "gen_ai.tool.type"
	toolCallID         attribute.Key = "gen_ai.tool.call.id"
	toolCallArguments  attribute.Key = "gen_ai.tool.call.arguments"
	toolCallResult     attribute.Key = "gen_ai.tool.call.result"
	systemInstructions attribute.Key = "gen_ai.system_instructions"
	inputMessages      attribute.Key = "gen_ai.input.messages"
	outputMessages     attribute.Key = "gen_ai.output.messages"
	errorType          attribute.Key = "error.type"
	serviceName        attribute.Key = "service.name"
)

// Names of our own.
const (
	troupeSession     attribute.Key = "troupe.session"
	troupeRun         attribute.Key = "troupe.run"
	troupeStep        attribute.Key = "troupe.step"
	troupeResumed     attribute.Key = "troupe.resumed"
	troupeStop        attribute.Key = "troupe.stop"
	troupeTurns       attribute.Key = "troupe.turns"
	troupeToolCalls   attribute.Key = "troupe.tool_calls"
	troupeCost        attribute.Key = "troupe.cost_usd"
	troupeAttempt     attribute.Key = "troupe.attempt"
	troupeEdited      attribute.Key = "troupe.input.edited"
	troupePurpose     attribute.Key = "troupe.purpose"
	troupeCode        attribute.Key = "troupe.code"
	troupeMessage     attribute.Key = "troupe.message"
	troupeFrom        attribute.Key = "troupe.from"
	troupeTo          attribute.Key = "troupe.to"
	troupeQuestion    attribute.Key = "troupe.question"
	troupePath        attribute.Key = "troupe.path"
	troupeDescription attribute.Key = "troupe.description"
	troupeType        attribute.Key = "troupe.type"
	troupeSize        attribute.Key = "troupe.size"
	troupeSummary     attribute.Key = "troupe.summary"
	troupeDropped     attribute.Key = "troupe.dropped"
	troupeKept        attribute.Key = "troupe.kept"
	troupeBefore      attribute.Key = "troupe.tokens_before"
	troupeAfter       attribute.Key = "troupe.tokens_after"
)

// The operations of the conventions that spans are of.
const (
	invokeAgent = "invoke_agent"
	chat        = "chat"
	executeTool = "execute_tool"
)
