"""Made by sdk/generate.ts from the asynchronous half. The asynchronous client."""
