package provider

// otherNames are names that people use for a provider beside its own.
var otherNames = map[string]string{
	"claude": "anthropic", "google": "gemini", "google-ai": "gemini", "grok": "xai", "hf": "huggingface", "kimi": "moonshot",
	"azure-openai": "azure", "aws": "bedrock", "llama.cpp": "llamacpp", "llama-cpp": "llamacpp", "llama-server": "llamacpp",
	"lm-studio": "lmstudio", "github-models": "github", "github-copilot": "copilot", "together-ai": "together", "togetherai": "together",
	"alibaba": "dashscope", "qwen": "dashscope", "bailian": "dashscope", "z.ai": "zai", "z-ai": "zai", "zhipu": "zai", "nim": "nvidia", "nvidia-nim": "nvidia",
	"fireworks-ai": "fireworks", "gateway": "vercel", "ai-gateway": "vercel", "vertex-ai": "vertex", "workers-ai": "cloudflare",
}

// table has the providers in the order in which their keys are looked for.
var (
	copilotHeaders   = map[string]string{"Copilot-Integration-Id": "vscode-chat", "Editor-Version": "troupe/1", "X-Initiator": "agent"}
	snowflakeHeaders = map[string]string{"X-Snowflake-Authorization-Token-Type": "PROGRAMMATIC_ACCESS_TOKEN"}
)

var table = []Provider{
	{
		Name: "openai", Title: "OpenAI", Usual: "gpt-4.1-mini",
		Endpoints: []Endpoint{{API: Chat, URL: "https://api.openai.com/v1"}, {API: Responses, URL: "https://api.openai.com/v1"}},
		KeyEnv:    []string{"OPENAI_API_KEY"}, URLEnv: []string{"OPENAI_BASE_URL", "OPENAI_API_BASE"},
		HeaderEnv: map[string]string{"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"},
		Quirks:    Quirks{Schema: SchemaStrict, IDs: ShortID, SessionField: "prompt_cache_key"},
	},
	{
		Name: "anthropic", Title: "Anthropic", Usual: "claude-sonnet-5",
		Endpoints: []Endpoint{
			{API: Messages, URL: "https://api.anthropic.com", KeyHeader: "x-api-key", Headers: map[string]string{"anthropic-version": "2023-06-01"}},
			{API: Chat, URL: "https://api.anthropic.com/v1"},
		},
		KeyEnv: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"}, URLEnv: []string{"ANTHROPIC_BASE_URL"},
		Quirks: Quirks{Schema: SchemaPrompt, IDs: StrictID},
	},
	{
		Name: "gemini", Title: "Google Gemini", Usual: "gemini-flash-latest",
		Endpoints: []Endpoint{
			{API: Gemini, URL: "https://generativelanguage.googleapis.com/v1beta", KeyHeader: "x-goog-api-key"},
			{API: Chat, URL: "https://generativelanguage.googleapis.com/v1beta/openai"},
		},
		KeyEnv: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"}, URLEnv: []string{"GOOGLE_GEMINI_BASE_URL"},
		Quirks: Quirks{Schema: SchemaJSON},
	},
	{
		Name: "openrouter", ReportsCost: true, Title: "OpenRouter", Usual: "openrouter/auto",
		Endpoints: []Endpoint{{API: Chat, URL: "https://openrouter.ai/api/v1"}},
		KeyEnv:    []string{"OPENROUTER_API_KEY"},
		Quirks:    Quirks{SessionHeader: "x-session-id", CacheMarks: true},
	},
	{
		Name: "groq", Title: "Groq", Usual: "llama-3.3-70b-versatile",
		Endpoints: []Endpoint{{API: Chat, URL: "https://api.groq.com/openai/v1"}},
		KeyEnv:    []string{"GROQ_API_KEY"},
		Quirks:    Quirks{Schema: SchemaObject, NoSchemaWithTools: true}, // its schemas do not go with streams
	},
	{
		Name: "deepseek", Title: "DeepSeek", Usual: "deepseek-chat",
		Endpoints: []Endpoint{{API: Chat, URL: "https://api.deepseek.com"}, {API: Messages, URL: "https://api.deepseek.com/anthropic", KeyHeader: "x-api-key"}},
		KeyEnv:    []string{"DEEPSEEK_API_KEY"},
		Quirks:    Quirks{Schema: SchemaObject, MaxTokensField: "max_tokens", ReasoningBack: true},
	},
	{
		Name: "mistral", Title: "Mistral", Usual: "mistral-small-latest",
		Endpoints: []Endpoint{{API: Chat, URL: "https://api.mistral.ai/v1"}},
		KeyEnv:    []string{"MISTRAL_API_KEY"},
		Quirks:    Quirks{Schema: SchemaStrict, NoStreamOptions: true, SeedField: "random_seed", IDs: NineID, SessionField: "prompt_cache_key", MaxTokensField: "max_tokens"},
	},
	{
		Name: "xai", ReportsCost: true, Title: "xAI", Usual: "grok-4.5",
		Endpoints: []Endpoint{{API: Chat, URL: "https://api.x.ai/v1"}, {API: Responses, URL: "https://api.x.ai/v1"}},
		KeyEnv:    []string{"XAI_API_KEY"},
	},
	{
		Name: "together", Title: "Together", Usual: "openai/gpt-oss-120b",
		Endpoints: []Endpoint{{API: Chat, URL: "https://api.together.xyz/v1"}},
		KeyEnv:    []string{"TOGETHER_API_KEY", "TOGETHER_AI_API_KEY"},
		Quirks:    Quirks{MaxTokensField: "max_tokens"},
	},
	{
		Name: "fireworks", Title: "Fireworks", Usual: "accounts/fireworks/models/gpt-oss-120b",
		Endpoints: []Endpoint{{API: Chat, URL: "https://api.fireworks.ai/inference/v1"}, {API: Messages, URL: "https://api.fireworks.ai/inference", KeyHeader: "x-api-key"}},
		KeyEnv:    []string{"FIREWORKS_API_KEY"},
		Quirks:    Quirks{MaxTokensField: "max_tokens", NoSchemaWithTools: true, SessionField: "prompt_cache_key"},
	},
	{
		Name: "cerebras", Title: "Cerebras", Usual: "gpt-oss-120b",
		Endpoints: []Endpoint{{API: Chat, URL: "https://api.cerebras.ai/v1"}},
		KeyEnv:    []string{"CEREBRAS_API_KEY"},
		Quirks:    Quirks{Schema: SchemaStrict, MaxTokensField: "max_completion_tokens"},
	},
	{
		Name: "moonshot", Title: "Moonshot", Usual: "kimi-k2.6",
		Endpoints: []Endpoint{{API: Chat, URL: "https://api.moonshot.ai/v1"}},
		KeyEnv:    []string{"MOONSHOT_API_KEY"},
		Quirks:    Quirks{MaxTokensField: "max_tokens", ReasoningBack: true},
	},
	{
		Name: "perplexity", ReportsCost: true, Title: "Perplexity", Usual: "sonar",
		Endpoints: []Endpoint{{API: Chat, URL: "https://api.perplexity.ai"}},
		KeyEnv:    []string{"PERPLEXITY_API_KEY", "PERPLEXITYAI_API_KEY"},
		Quirks:    Quirks{NoTools: true, OneSystem: true},
	},
	{
		Name: "cohere", Title: "Cohere", Usual: "command-a-03-2025",
		Endpoints: []Endpoint{{API: Chat, URL: "https://api.cohere.ai/compatibility/v1"}},
		KeyEnv:    []string{"COHERE_API_KEY", "CO_API_KEY"},
		Quirks:    Quirks{NoStreamOptions: true, Schema: SchemaObject},
	},
	{
		Name: "dashscope", Title: "Alibaba Model Studio (Qwen)", Usual: "qwen-plus",
		Endpoints: []Endpoint{{API: Chat, URL: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1"}}, // China has another: see URLEnv
		KeyEnv:    []string{"DASHSCOPE_API_KEY"}, URLEnv: []string{"DASHSCOPE_API_BASE"},
		Quirks: Quirks{MaxTokensField: "max_tokens"},
	},
	{
		Name: "deepinfra", Title: "DeepInfra", Usual: "openai/gpt-oss-120b",
		Endpoints: []Endpoint{{API: Chat, URL: "https://api.deepinfra.com/v1/openai"}},
		KeyEnv:    []string{"DEEPINFRA_API_KEY", "DEEPINFRA_TOKEN", "DEEPINFRA_API_TOKEN"},
		Quirks:    Quirks{MaxTokensField: "max_tokens"},
	},
	{
		Name: "zai", Title: "Z.ai", Usual: "glm-4.7",
		Endpoints: []Endpoint{{API: Chat, URL: "https://api.z.ai/api/paas/v4"}},
		KeyEnv:    []string{"ZAI_API_KEY"},
		Quirks:    Quirks{MaxTokensField: "max_tokens", Schema: SchemaObject},
	},
	{
		Name: "nvidia", Title: "NVIDIA NIM", Usual: "openai/gpt-oss-20b",
		Endpoints: []Endpoint{{API: Chat, URL: "https://integrate.api.nvidia.com/v1"}},
		KeyEnv:    []string{"NVIDIA_API_KEY", "NVIDIA_NIM_API_KEY"},
		Quirks:    Quirks{MaxTokensField: "max_tokens"},
	},
	{
		Name: "azure", Title: "Azure OpenAI",
		Endpoints: []Endpoint{
			{API: Chat, URL: "https://{resource}.openai.azure.com/openai/v1", KeyHeader: "api-key"},
			{API: Responses, URL: "https://{resource}.openai.azure.com/openai/v1", KeyHeader: "api-key"},
		},
		KeyEnv: []string{"AZURE_OPENAI_API_KEY", "AZURE_API_KEY"}, URLEnv: []string{"AZURE_OPENAI_ENDPOINT"},
		Vars:   map[string][]string{"resource": {"AZURE_RESOURCE_NAME"}},
		Quirks: Quirks{Schema: SchemaStrict, IDs: ShortID, SessionField: "prompt_cache_key"},
	},
	{
		Name: "vertex", Shared: true, Title: "Google Vertex AI",
		Endpoints: []Endpoint{
			{API: Chat, URL: "https://{location}-aiplatform.googleapis.com/v1/projects/{project}/locations/{location}/endpoints/openapi"},
			{API: Gemini, URL: "https://{location}-aiplatform.googleapis.com/v1/projects/{project}/locations/{location}/publishers/google"},
			{API: Messages, URL: "https://{location}-aiplatform.googleapis.com/v1/projects/{project}/locations/{location}/publishers/anthropic"},
		},
		KeyEnv: []string{"CLOUDSDK_AUTH_ACCESS_TOKEN"}, // lives for an hour
		Vars:   map[string][]string{"project": {"GOOGLE_CLOUD_PROJECT"}, "location": {"GOOGLE_CLOUD_LOCATION"}},
	},
	{
		Name: "bedrock", Title: "Amazon Bedrock",
		Endpoints: []Endpoint{
			{API: Chat, URL: "https://bedrock-mantle.{region}.api.aws/v1"}, {API: Responses, URL: "https://bedrock-mantle.{region}.api.aws/v1"},
			{API: Messages, URL: "https://bedrock-runtime.{region}.amazonaws.com"}, // models of Anthropic
		},
		KeyEnv: []string{"AWS_BEARER_TOKEN_BEDROCK"},
		Vars:   map[string][]string{"region": {"AWS_REGION", "AWS_DEFAULT_REGION"}},
	},
	{
		Name: "snowflake", Title: "Snowflake Cortex", Usual: "claude-sonnet-5",
		Endpoints: []Endpoint{
			{API: Chat, URL: "https://{account}.snowflakecomputing.com/api/v2/cortex/v1", Headers: snowflakeHeaders},
			{API: Messages, URL: "https://{account}.snowflakecomputing.com/api/v2/cortex/v1", Headers: snowflakeHeaders}, // models of Anthropic
		},
		KeyEnv: []string{"SNOWFLAKE_PAT"},
		Vars:   map[string][]string{"account": {"SNOWFLAKE_ACCOUNT"}},
	},
	{
		Name: "databricks", Shared: true, Title: "Databricks",
		Endpoints: []Endpoint{{API: Chat, URL: "https://{workspace}/serving-endpoints"}},
		KeyEnv:    []string{"DATABRICKS_TOKEN", "DATABRICKS_API_KEY"}, URLEnv: []string{"DATABRICKS_API_BASE"},
		Vars: map[string][]string{"workspace": {"DATABRICKS_HOST"}},
	},
	{
		Name: "vercel", ReportsCost: true, Title: "Vercel AI Gateway", Usual: "openai/gpt-4.1-mini",
		Endpoints: []Endpoint{{API: Chat, URL: "https://ai-gateway.vercel.sh/v1"}, {API: Messages, URL: "https://ai-gateway.vercel.sh", KeyHeader: "x-api-key"}},
		KeyEnv:    []string{"AI_GATEWAY_API_KEY"},
	},
	{
		Name: "huggingface", Shared: true, Title: "Hugging Face", Usual: "openai/gpt-oss-120b",
		Endpoints: []Endpoint{{API: Chat, URL: "https://router.huggingface.co/v1"}},
		KeyEnv:    []string{"HF_TOKEN", "HUGGINGFACE_API_KEY"},
	},
	{
		Name: "cloudflare", Shared: true, Title: "Cloudflare Workers AI", Usual: "@cf/openai/gpt-oss-120b",
		Endpoints: []Endpoint{{API: Chat, URL: "https://api.cloudflare.com/client/v4/accounts/{account}/ai/v1"}},
		KeyEnv:    []string{"CLOUDFLARE_API_TOKEN", "CLOUDFLARE_API_KEY"},
		Vars:      map[string][]string{"account": {"CLOUDFLARE_ACCOUNT_ID"}},
		Quirks:    Quirks{MaxTokensField: "max_tokens"},
	},
	{
		Name: "cloudflare-gateway", Shared: true, Title: "Cloudflare AI Gateway",
		Endpoints: []Endpoint{{API: Chat, URL: "https://gateway.ai.cloudflare.com/v1/{account}/{gateway}/compat"}},
		KeyEnv:    []string{"CLOUDFLARE_GATEWAY_TOKEN"},
		Vars:      map[string][]string{"account": {"CLOUDFLARE_ACCOUNT_ID"}, "gateway": {"CLOUDFLARE_GATEWAY_ID"}},
		Quirks:    Quirks{MaxTokensField: "max_tokens"},
	},
	{
		Name: "github", Shared: true, Title: "GitHub Models", Usual: "openai/gpt-4.1-mini",
		Endpoints: []Endpoint{{API: Chat, URL: "https://models.github.ai/inference"}},
		KeyEnv:    []string{"GITHUB_MODELS_TOKEN", "GITHUB_TOKEN"},
	},
	{
		Name: "copilot", Shared: true, Title: "GitHub Copilot",
		Endpoints: []Endpoint{
			{API: Chat, URL: "https://api.githubcopilot.com", Headers: copilotHeaders},
			{API: Messages, URL: "https://api.githubcopilot.com", Headers: copilotHeaders}, // models of Anthropic
			{API: Responses, URL: "https://api.githubcopilot.com", Headers: copilotHeaders},
		},
		KeyEnv: []string{"COPILOT_GITHUB_TOKEN"},
		Quirks: Quirks{Slow: true},
	},
	{
		Name: "litellm", Title: "LiteLLM proxy", Local: true,
		Endpoints: []Endpoint{{API: Chat, URL: "http://localhost:4000/v1"}, {API: Messages, URL: "http://localhost:4000"}, {API: Responses, URL: "http://localhost:4000/v1"}},
		KeyEnv:    []string{"LITELLM_API_KEY", "LITELLM_PROXY_API_KEY"},
		Quirks:    Quirks{Slow: true},
	},
	{
		Name: "ollama", Title: "Ollama", Local: true,
		Endpoints: []Endpoint{{API: Ollama, URL: "http://localhost:11434"}, {API: Chat, URL: "http://localhost:11434/v1"}},
		KeyEnv:    []string{"OLLAMA_API_KEY"}, URLEnv: []string{"OLLAMA_HOST"},
		Quirks: Quirks{Slow: true},
	},
	{
		Name: "llamacpp", Title: "llama.cpp", Local: true,
		Endpoints: []Endpoint{{API: Chat, URL: "http://localhost:8080/v1"}},
		KeyEnv:    []string{"LLAMA_API_KEY"},
		Quirks:    Quirks{Slow: true},
	},
	{
		Name: "vllm", Title: "vLLM", Local: true,
		Endpoints: []Endpoint{{API: Chat, URL: "http://localhost:8000/v1"}, {API: Responses, URL: "http://localhost:8000/v1"}},
		KeyEnv:    []string{"VLLM_API_KEY"},
		Quirks:    Quirks{Slow: true},
	},
	{
		Name: "sglang", Title: "SGLang", Local: true,
		Endpoints: []Endpoint{{API: Chat, URL: "http://localhost:30000/v1"}},
		Quirks:    Quirks{Slow: true},
	},
	{
		Name: "lmstudio", Title: "LM Studio", Local: true,
		Endpoints: []Endpoint{{API: Chat, URL: "http://localhost:1234/v1"}, {API: Responses, URL: "http://localhost:1234/v1"}, {API: Messages, URL: "http://localhost:1234"}},
		KeyEnv:    []string{"LMSTUDIO_API_KEY"}, URLEnv: []string{"LM_STUDIO_API_BASE"},
		Quirks: Quirks{Slow: true},
	},
}
