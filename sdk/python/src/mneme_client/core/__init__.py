"""The API as sdk/generate.ts made it from the OpenAPI document."""
