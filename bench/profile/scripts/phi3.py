import torch
from transformers import Phi3Config, Phi3ForCausalLM

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
rope = {"type": "longrope", "short_factor": [1.0] * 16, "long_factor": [2.0] * 16}
sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2}
sizes |= {"vocab_size": 128, "intermediate_size": 128, "pad_token_id": 0, "max_position_embeddings": 64}
model = Phi3ForCausalLM(Phi3Config(**sizes, original_max_position_embeddings=16, rope_scaling=rope)).eval().to(device)
with torch.no_grad():
    print(model(input_ids=torch.randint(0, 128, (1, 8), device=device)).logits.shape)
