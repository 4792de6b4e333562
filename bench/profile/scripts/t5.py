import torch
from transformers import T5Config, T5ForConditionalGeneration

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
config = T5Config(vocab_size=128, d_model=64, d_ff=128, num_layers=2, num_heads=2, d_kv=32)
model = T5ForConditionalGeneration(config).eval().to(device)
ids = torch.randint(0, 128, (1, 8), device=device)
with torch.no_grad():
    print(model(input_ids=ids, decoder_input_ids=ids).logits.shape)
