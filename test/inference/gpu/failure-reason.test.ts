// What is said about errors of onnxruntime: the cause, without paths.

import { expect, test } from "bun:test";
import { failureReason } from "../../../src/adapters/inference/gpu/failure-reason.ts";

test.each([
  [
    "/src/cuda_call.cc:154 virtual bool X [with ERRTYPE = cudaError] CUDA failure 36: API call is not supported in the installed CUDA driver ; GPU=-1 ; hostname=vm ; file=/src/a.cc ; line=352 ; expr=cudaSetDevice(info_.device_id); ",
    "CUDA failure 36: API call is not supported in the installed CUDA driver",
  ],
  [
    "CUBLAS failure 13: CUBLAS_STATUS_EXECUTION_FAILED ; GPU=0 ; hostname=h",
    "CUBLAS failure 13: CUBLAS_STATUS_EXECUTION_FAILED",
  ],
  [
    "/onnxruntime_src/core/framework/bfc_arena.cc:376 void* X::Allocate(size_t) Failed to allocate memory for requested buffer of size 67108864",
    "… void* X::Allocate(size_t) Failed to allocate memory for requested buffer of size 67108864",
  ],
  ["two\n  lines\tof /secret/path text", "two lines of … text"],
])("%s", (message, reason) => expect(failureReason(new Error(message))).toBe(reason));

test("an error of unknown form is cut", () => {
  expect(failureReason("x".repeat(5000))).toHaveLength(200);
  expect(failureReason(undefined)).toBe("undefined");
});
