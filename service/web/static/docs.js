// Swagger UI, from the package fastapi-offline, on our own OpenAPI document.
"use strict";

SwaggerUIBundle({ url: "/openapi.json", dom_id: "#api", deepLinking: true });
