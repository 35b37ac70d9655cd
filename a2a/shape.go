package a2a

import (
	"bytes"
	"encoding/json"
)

// What the final version 1.0 of the protocol calls a push configuration, and what the
// library that reads requests, which is older than that, calls it.
const (
	finalPush = "taskPushNotificationConfig"
	readPush  = "pushNotificationConfig"
)

// asRead rewrites a request of the final version 1.0 into the shape that is read: a push
// configuration that comes with a message has another name, and one that is made by
// itself is not wrapped.
func asRead(body []byte) []byte {
	if !bytes.Contains(body, []byte(finalPush)) && !bytes.Contains(body, []byte("CreateTaskPushNotificationConfig")) {
		return body
	}
	var request map[string]any
	if json.Unmarshal(body, &request) != nil {
		return body // to be refused by whoever reads it
	}
	params, _ := request["params"].(map[string]any)
	if settings, ok := params["configuration"].(map[string]any); ok && settings[finalPush] != nil {
		settings[readPush] = settings[finalPush]
		delete(settings, finalPush)
	}
	if request["method"] == "CreateTaskPushNotificationConfig" && params["config"] == nil && params["url"] != nil {
		request["params"] = map[string]any{"taskId": params["taskId"], "config": params}
	}
	rewritten, err := json.Marshal(request)
	if err != nil {
		return body
	}
	return rewritten
}
